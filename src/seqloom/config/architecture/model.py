"""Options of a model: embeddings, front end, encoder, decoder or head."""

from typing import Annotated

from pydantic import Field

from seqloom.config.architecture.decoders import DecoderConfig, TransformerDecoderConfig
from seqloom.config.architecture.encoders import EncoderConfig, TransformerEncoderConfig
from seqloom.config.architecture.front_ends import FrontEndConfig, NoFrontEndConfig
from seqloom.config.sections import DropoutRate, Section, Width

__all__ = ["ModelConfig"]


class ModelConfig(Section):
    """Embeddings, an optional front end, an encoder, and a decoder or head."""

    embedding: Width = Field(256, description="embedding size")
    scale_vectors: bool = Field(
        True, description="multiply embeddings by the square root of their size"
    )
    source_vectors: str = Field(
        "",
        description="file of pretrained word vectors (word2vec text or binary) for the source; "
        "their size must be model.embedding",
    )
    target_vectors: str = Field("", description="the same for the target")
    frozen_vectors: bool = Field(False, description="freeze vectors from a file")
    letters: Width = Field(
        64, description="size of the character-level vector of a token, with source.spelling"
    )
    forget: DropoutRate = Field(
        0.0, description="word dropout: share of source tokens read as <unk> in training"
    )
    one_hot: bool = Field(False, description="one-hot token vectors instead of learned embeddings")
    share_vocabulary: bool = Field(
        True, description="one vocabulary and one embedding table for source and target"
    )
    tie_output: bool = Field(True, description="tie the output layer to the target embedding table")
    output_bias: bool = Field(True, description="whether the output layer has a bias")
    reverse_source: bool = Field(False, description="reverse the source")
    lags: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1,
        description="autoregressive series: past values of each forecast column that a step reads",
    )
    linear: bool = Field(
        False,
        description="series: add a linear map from window to forecast, initialized by ridge "
        "regression whose penalty is chosen on held-out rows",
    )
    ctc: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="sound: weight of an auxiliary CTC loss over the encoder's steps; 0: none",
    )
    front: FrontEndConfig = NoFrontEndConfig()
    encoder: EncoderConfig = TransformerEncoderConfig()
    decoder: DecoderConfig = TransformerDecoderConfig()
