"""The options of a model: a choice between parts is a union of classes told apart by `kind`."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from seqloom.config.front_ends import FrontEndConfig, NoFrontEndConfig
from seqloom.config.positions import PositionsConfig, SinusoidsConfig
from seqloom.config.section import (
    Count,
    DropoutRate,
    Layers,
    Section,
    Width,
    kind_or_table,
)
from seqloom.config.units import LstmConfig, UnitConfig

__all__ = [
    "AttentionConfig",
    "AttentionOptions",
    "BlanksHeadConfig",
    "DecoderConfig",
    "EncoderConfig",
    "GlobalAttentionConfig",
    "HeadConfig",
    "HorizonHeadConfig",
    "LabelHeadConfig",
    "LocalAttentionConfig",
    "ModelConfig",
    "NoAttentionConfig",
    "NoEncoderConfig",
    "NumberHeadConfig",
    "RecurrentDecoderConfig",
    "RecurrentEncoderConfig",
    "RecurrentOptions",
    "TagsHeadConfig",
    "TransformerDecoderConfig",
    "TransformerEncoderConfig",
    "TransformerOptions",
    "ValuesEncoderConfig",
    "VectorsEncoderConfig",
]

ATTENTION_KIND = "which positions are seen: global, local, or none at all"
ENCODER_KIND = (
    "what reads the source: transformer, recurrent, vectors or values as they are, or none"
)
DECODER_KIND = (
    "what gives the target: transformer or recurrent, or a head: label, tags, gaps, number, or "
    "horizon"
)


class AttentionOptions(Section):
    """How a recurrent decoder looks at the source (S4)."""

    score: Literal[
        "dot", "scaled", "general", "scaled-general", "additive", "concatenation", "perceptron"
    ] = Field("general", description="the score of a query and a key")
    query: Literal["current", "previous", "output"] = Field(
        "current",
        description="what asks: the current state, the previous state, or the previous output",
    )
    feed: bool = Field(
        False, description="feed what attention made of a step into the next step (input feeding)"
    )
    heads: Layers = Field(1, description="attention heads, each with keys and queries of its own")
    size: Count = Field(
        0,
        description="size of a head's queries and keys, and of the layer inside a score; "
        "0 divides the decoder's width by the heads",
    )
    causal: bool = Field(
        False, description="let step t look at the first t positions of the source only"
    )


class GlobalAttentionConfig(AttentionOptions):
    """Attention to every position."""

    kind: Literal["global"] = Field("global", description=ATTENTION_KIND)


class LocalAttentionConfig(AttentionOptions):
    """Attention to a window of positions (S4.3)."""

    kind: Literal["local"] = Field("local", description=ATTENTION_KIND)
    centre: Literal["time", "predicted"] = Field(
        "predicted", description="local: the middle of the window is the step itself, or predicted"
    )
    window: Count = Field(0, description="local: positions seen on each side of the middle")
    gaussian: bool = Field(
        True, description="local: favour the middle by a bell curve of half the window's width"
    )


class NoAttentionConfig(Section):
    """No attention: the decoder knows the source through its first state or the code."""

    kind: Literal["none"] = Field("none", description=ATTENTION_KIND)


AttentionConfig = Annotated[
    Annotated[
        GlobalAttentionConfig | LocalAttentionConfig | NoAttentionConfig,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_or_table("global")),
]


class RecurrentOptions(Section):
    """A stack of recurrent layers (S2.6)."""

    unit: UnitConfig = LstmConfig()
    layers: Layers = Field(1, description="number of stacked layers")
    dropout: DropoutRate = Field(0.2, description="share of values dropped in training")
    residual: bool = Field(
        False, description="add a recurrent layer's input to its output where their sizes agree"
    )
    layer_norm: bool = Field(False, description="layer norm on each recurrent layer's output")


class RecurrentEncoderConfig(RecurrentOptions):
    """Stacked recurrent layers over the source (S2.6)."""

    kind: Literal["recurrent"] = Field("recurrent", description=ENCODER_KIND)
    width: Width = Field(256, description="size of the hidden state of one direction")
    layers: Layers = Field(2, description="number of stacked layers")
    direction: Literal["both", "forward", "backward", "around"] = Field(
        "both",
        description="which way a recurrent encoder reads; around, each position is shown what is "
        "before it and what is after it, without itself (gaps)",
    )
    first_state: Literal["zero", "learnt"] = Field(
        "zero", description="the state a recurrent encoder starts from"
    )


class RecurrentDecoderConfig(RecurrentOptions):
    """A recurrent decoder in any of the forms of S3.2."""

    kind: Literal["recurrent"] = Field("recurrent", description=DECODER_KIND)
    width: Width = Field(512, description="size of the hidden state")
    first_state: Literal["map", "copy", "zero", "learnt", "read"] = Field(
        "map",
        description="the decoder's first state: the encoder's last through a learned map, a copy "
        "of it, zero, learnt, or what reading the source's vectors itself leaves",
    )
    map_activation: Literal["tanh", "sigmoid", "identity"] = Field(
        "tanh", description="first_state = map: the function the mapped hidden state goes through"
    )
    map_bias: bool = Field(True, description="first_state = map: whether the map has a bias")
    feedback: Literal["token", "soft", "none"] = Field(
        "token",
        description="what of its output a recurrent decoder reads next: the token, the mean "
        "vector under the whole distribution, or nothing",
    )
    code: Literal["none", "input", "input-output", "first"] = Field(
        "none",
        description="where the code joins: nowhere, the input of every step, the output layer "
        "too, or the first input alone",
    )
    join: Literal["concatenate", "sum"] = Field(
        "concatenate", description="how code and fed-back output make one input"
    )
    readout: Literal["perceptron", "affine"] = Field(
        "perceptron",
        description="from the state to the output layer: through tanh(W s + b), or directly",
    )
    attention: AttentionConfig = GlobalAttentionConfig()


class TransformerOptions(Section):
    """Transformer blocks (S5)."""

    width: Width = Field(256, description="size of a position's vector")
    inner: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1024, description="size of the network inside a block"
    )
    heads: Layers = Field(4, description="attention heads")
    head_size: Count = Field(
        0, description="size of a head's queries and keys; 0 divides the width by the heads"
    )
    value_size: Count = Field(0, description="size of a head's values; 0 takes the head's size")
    attention_bias: bool = Field(False, description="whether attention's maps have a bias")
    layers: Layers = Field(3, description="number of blocks")
    norm: Literal["first", "after"] = Field(
        "first", description="layer norm before or after the sum"
    )
    activation: Literal["relu", "gelu", "gated"] = Field(
        "relu", description="the network inside a block: relu, gelu, or gated by gelu"
    )
    dropout: DropoutRate = Field(0.1, description="share of values dropped in training")
    positions: PositionsConfig = SinusoidsConfig()


class TransformerEncoderConfig(TransformerOptions):
    """Transformer blocks over the source (S5.4)."""

    kind: Literal["transformer"] = Field("transformer", description=ENCODER_KIND)
    mixing: Literal["attention", "simple"] = Field(
        "attention",
        description="how positions of one side meet: self-attention with learned maps, or simple",
    )


class TransformerDecoderConfig(TransformerOptions):
    """Causal Transformer blocks (S5.4, S5.6)."""

    kind: Literal["transformer"] = Field("transformer", description=DECODER_KIND)
    mixing: Literal["attention", "simple", "ssru"] = Field(
        "attention",
        description="how positions of one side meet: self-attention with learned maps, simple, or "
        "a simple recurrent unit",
    )
    source: Literal["attend", "read"] = Field(
        "attend",
        description="how a Transformer decoder takes in the source: attends to it, or reads its "
        "vectors before its own output (decoder only)",
    )


class VectorsEncoderConfig(Section):
    """No layers: the source's token vectors as they are."""

    kind: Literal["vectors"] = Field("vectors", description=ENCODER_KIND)


class ValuesEncoderConfig(Section):
    """No layers and no map: the numbers of a series as they are."""

    kind: Literal["values"] = Field("values", description=ENCODER_KIND)


class NoEncoderConfig(Section):
    """No source at all: a language model."""

    kind: Literal["none"] = Field("none", description=ENCODER_KIND)


class PooledOptions(Section):
    """What every head over a whole source can be asked."""

    pool: Literal["code", "mean", "max"] = Field(
        "mean",
        description="label, number: what is judged, the code, or the mean or maximum of all states",
    )
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")


class LabelHeadConfig(PooledOptions):
    """One label for the whole source (S5.6)."""

    kind: Literal["label"] = Field("label", description=DECODER_KIND)


class NumberHeadConfig(PooledOptions):
    """One number for the whole source."""

    kind: Literal["number"] = Field("number", description=DECODER_KIND)


class TagsHeadConfig(Section):
    """One label for each position of the source (S5.6)."""

    kind: Literal["tags"] = Field("tags", description=DECODER_KIND)


class BlanksHeadConfig(Section):
    """A token of the source's vocabulary for positions of the source that were left out."""

    kind: Literal["gaps"] = Field("gaps", description=DECODER_KIND)
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")


class HorizonHeadConfig(Section):
    """All steps of a forecast at once."""

    kind: Literal["horizon"] = Field("horizon", description=DECODER_KIND)
    inner: Annotated[int, Field(ge=0, le=16_384)] = Field(
        0, description="horizon: size of a layer between window and forecast; 0 is a linear model"
    )
    dropout: DropoutRate = Field(0.0, description="share of values left out at random in training")


EncoderConfig = Annotated[
    TransformerEncoderConfig
    | RecurrentEncoderConfig
    | VectorsEncoderConfig
    | ValuesEncoderConfig
    | NoEncoderConfig,
    Field(discriminator="kind"),
]
HeadConfig = (
    LabelHeadConfig | TagsHeadConfig | BlanksHeadConfig | NumberHeadConfig | HorizonHeadConfig
)
DecoderConfig = Annotated[
    TransformerDecoderConfig | RecurrentDecoderConfig | HeadConfig, Field(discriminator="kind")
]


class ModelConfig(Section):
    """Token vectors, perhaps a front end, one encoder, one decoder or head."""

    embedding: Width = Field(256, description="size of a token's vector")
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
    ctc: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        description="sound: share of the loss that is CTC's, over all alignments of the target "
        "with the encoder's steps; 0 has none",
    )
    front: FrontEndConfig = NoFrontEndConfig()
    encoder: EncoderConfig = TransformerEncoderConfig()
    decoder: DecoderConfig = TransformerDecoderConfig()
