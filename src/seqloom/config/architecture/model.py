"""The options of a model: token vectors, perhaps a front end, an encoder, a decoder or head."""

from typing import Annotated

from pydantic import Field

from seqloom.config.architecture.decoders import DecoderConfig, TransformerDecoderConfig
from seqloom.config.architecture.encoders import EncoderConfig, TransformerEncoderConfig
from seqloom.config.architecture.front_ends import FrontEndConfig, NoFrontEndConfig
from seqloom.config.sections import DropoutRate, Section, Width

__all__ = ["ModelConfig"]


class ModelConfig(Section):
    """Token vectors, perhaps a front end, one encoder, one decoder or head."""

    embedding: Width = Field(256, description="size of a token's vector")
    scale_vectors: bool = Field(
        True, description="whether token vectors are multiplied by the square root of their size"
    )
    source_vectors: str = Field(
        "",
        description="file of word vectors, word2vec's text or binary, that the source's tokens "
        "begin with; their size is then that of model.embedding",
    )
    target_vectors: str = Field("", description="the same for the target's tokens")
    frozen_vectors: bool = Field(
        False, description="vectors from a file stay as they are while the rest learns"
    )
    letters: Width = Field(
        64, description="size of the vector read from a token's letters, where source.spelling is"
    )
    forget: DropoutRate = Field(
        0.0, description="share of the source's tokens that are read as <unk> in training"
    )
    one_hot: bool = Field(
        False, description="token vectors are one-hot and as long as the vocabulary, not learned"
    )
    share_vocabulary: bool = Field(
        True, description="one vocabulary and one embedding table for source and target"
    )
    tie_output: bool = Field(
        True, description="the output layer is the target embedding table, transposed"
    )
    output_bias: bool = Field(True, description="whether the output layer has a bias")
    reverse_source: bool = Field(False, description="read the source back to front")
    lags: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1,
        description="series fed back: values that a step reads of each column that is forecast, "
        "observed or its own, the last one included",
    )
    linear: bool = Field(
        False,
        description="series: a linear map from window to forecast, learnt beside the network; it "
        "begins at its least-squares solution, whose penalty held-out rows choose",
    )
    ctc: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="sound: share of the loss that is CTC's, over all alignments of the target "
        "with the encoder's steps; 0 has none",
    )
    front: FrontEndConfig = NoFrontEndConfig()
    encoder: EncoderConfig = TransformerEncoderConfig()
    decoder: DecoderConfig = TransformerDecoderConfig()
