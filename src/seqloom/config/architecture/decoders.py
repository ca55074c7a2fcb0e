"""Options of decoders, which write the target step by step, and heads, which predict it at once."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.architecture.attention import AttentionConfig, GlobalAttentionConfig
from seqloom.config.architecture.units import RecurrentOptions, TransformerOptions
from seqloom.config.sections import Choice, DropoutRate, PartOptions, ReadoutChoice, Width
from seqloom.registry import Family

__all__ = [
    "DECODERS",
    "HEADS",
    "BlanksHeadConfig",
    "CTCDecoderConfig",
    "DecoderConfig",
    "DecoderOptions",
    "HeadOptions",
    "HorizonHeadConfig",
    "LabelHeadConfig",
    "NumberHeadConfig",
    "PooledOptions",
    "RecurrentDecoderConfig",
    "RecurrentTagsConfig",
    "TagsHeadConfig",
    "TransformerDecoderConfig",
]


class HeadOptions(PartOptions):
    """Options of every head."""

    follows_columns: ClassVar[bool] = (
        True  # whether the target's kind determines it, whatever the preset
    )
    is_ctc: ClassVar[bool] = False  # whether CTC is all that writes the target
    usual_search: ClassVar[str] = ""  # default search, if outputs are searched for


HEADS: Family[HeadOptions, Any] = Family("head", home="seqloom.model")


class PooledOptions(HeadOptions):
    """Options of every head that pools the source."""

    pool: Literal["code", "mean", "max"] = Field(
        "mean",
        description="input of the head: the code, or the mean or maximum of all states",
    )
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")
    readout: ReadoutChoice = "affine"


@HEADS.options("label")
class LabelHeadConfig(PooledOptions):
    """One label for the whole source (S5.6)."""

    kind: Literal["label"] = "label"


@HEADS.options("tags")
class TagsHeadConfig(HeadOptions):
    """One label for each position of the source (S5.6)."""

    kind: Literal["tags"] = "tags"
    readout: ReadoutChoice = "affine"


@HEADS.options("recurrent-tags")
class RecurrentTagsConfig(HeadOptions, RecurrentOptions):
    """One label for each position of the source, conditioned on the label before it (S2.2)."""

    usual_search: ClassVar[str] = "greedy"
    kind: Literal["recurrent-tags"] = "recurrent-tags"
    width: Width = Field(256, description="size of the hidden state")
    feedback: Literal["token", "soft"] = Field(
        "token",
        description="what a step reads of the previous tag: its embedding, or the mean "
        "under its distribution",
    )
    first_state: Literal["zero", "learnt"] = Field(
        "zero", description="initial state: zero or learnt"
    )
    readout: ReadoutChoice = "affine"


@HEADS.options("blanks")
class BlanksHeadConfig(HeadOptions):
    """A token of the source vocabulary for each masked position."""

    kind: Literal["blanks"] = "blanks"
    dropout: DropoutRate = Field(0.1, description="share of values left out at random in training")
    readout: ReadoutChoice = "perceptron"


@HEADS.options("number")
class NumberHeadConfig(PooledOptions):
    """One number for the whole source."""

    kind: Literal["number"] = "number"


@HEADS.options("horizon")
class HorizonHeadConfig(HeadOptions):
    """All steps of a forecast at once."""

    follows_columns: ClassVar[bool] = False  # presets with an autoregressive decoder
    kind: Literal["horizon"] = "horizon"
    inner: Annotated[int, Field(ge=0, le=16_384)] = Field(
        0, description="size of the hidden layer between window and forecast; 0: a linear model"
    )
    dropout: DropoutRate = Field(0.0, description="share of values left out at random in training")


class DecoderOptions(PartOptions):
    """Options of every decoder."""

    follows_columns: ClassVar[bool] = (
        False  # whether the target's kind determines it, whatever the preset
    )
    is_ctc: ClassVar[bool] = False  # whether CTC is all that writes the target
    usual_search: ClassVar[str] = ""  # default search; empty for that of any decoder


DECODERS: Family[DecoderOptions, Any] = Family(
    "decoder",
    home="seqloom.model",
    meaning="the decoder or head",
)


@DECODERS.options("transformer")
class TransformerDecoderConfig(DecoderOptions, TransformerOptions):
    """Causal Transformer blocks (S5.4, S5.6)."""

    kind: Literal["transformer"] = "transformer"
    mixing: Literal["attention", "simple", "ssru"] = Field(
        "attention",
        description="token mixing: self-attention with learned projections, without (simple), or "
        "a simple recurrent unit",
    )
    source: Literal["attend", "read"] = Field(
        "attend",
        description="how a Transformer decoder uses the source: cross-attention, or as a prefix "
        "of its own input (decoder only)",
    )
    readout: ReadoutChoice = "affine"


@DECODERS.options("recurrent")
class RecurrentDecoderConfig(DecoderOptions, RecurrentOptions):
    """A recurrent decoder in any form of S3.2."""

    kind: Literal["recurrent"] = "recurrent"
    width: Width = Field(512, description="size of the hidden state")
    first_state: Literal["map", "copy", "zero", "learnt", "read"] = Field(
        "map",
        description="the decoder's initial state: a learned map of the encoder's last, a copy of "
        "it, zero, learnt, or the state after reading the source's embeddings itself",
    )
    map_activation: Literal["tanh", "sigmoid", "identity"] = Field(
        "tanh", description="first_state = map: activation of the mapped hidden state"
    )
    map_bias: bool = Field(True, description="first_state = map: whether the map has a bias")
    feedback: Literal["token", "soft", "none"] = Field(
        "token",
        description="what a recurrent decoder reads of its previous output: the token, the mean "
        "embedding under the distribution, or nothing",
    )
    code: Literal["none", "input", "input-output", "first"] = Field(
        "none",
        description="where the code enters: nowhere, the input of every step, the output layer "
        "too, or only the first input",
    )
    join: Literal["concatenate", "sum"] = Field(
        "concatenate", description="how code and fed-back output are combined into one input"
    )
    readout: ReadoutChoice = "perceptron"
    attention: AttentionConfig = GlobalAttentionConfig()


@DECODERS.options("ctc")
class CTCDecoderConfig(DecoderOptions):
    """An output layer over the encoder's steps, in whose order the target is written (S1.1)."""

    is_ctc: ClassVar[bool] = True
    usual_search: ClassVar[str] = "prefix-beam"
    kind: Literal["ctc"] = "ctc"
    dropout: DropoutRate = Field(0.1, description="share of values dropped in training")
    readout: ReadoutChoice = "affine"


DecoderConfig = Annotated[DecoderOptions | HeadOptions, Choice(DECODERS, HEADS)]
"""Any decoder or head that is registered."""
