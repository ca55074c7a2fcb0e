"""The sizes that one part of a model must know of another before it can be built."""

from dataclasses import dataclass
from typing import NamedTuple

from seqloom.config import ModelConfig
from seqloom.errors import ConfigError
from seqloom.fields import Items
from seqloom.nn.embedding import OutputLayer, Vectors, embedding_of, listed_rows

__all__ = ["DecoderSizes", "EncoderSizes", "HeadContext"]


class EncoderSizes(NamedTuple):
    """The sizes of an encoder's states and of its code, where it has them."""

    states: int | None = None
    code: tuple[int, int] | None = None  # layers, width
    parts: int = 1  # tensors in the code
    around: bool = False  # no state depends on the item at its own position


@dataclass(frozen=True)
class DecoderSizes:
    """What a decoder is built for: the encoder before it, and the target it reads and writes."""

    model: ModelConfig
    source: EncoderSizes
    vectors: Vectors  # of the target's items
    outputs: int  # numbers written at a step

    def output_layer(self, width: int) -> OutputLayer:
        """An output layer for features of this width, tied to the embedding if so configured."""
        tied = embedding_of(self.vectors) if self.model.tie_output else None
        if tied is not None and tied.width != width:
            raise ConfigError(
                f"model.tie_output needs features as wide as the embeddings, {tied.width}, but "
                f"the decoder gives {width}",
                remedy="make them equal or set model.tie_output=false",
            )
        rows = listed_rows(self.vectors)
        return OutputLayer(width, self.outputs, tied=tied, bias=self.model.output_bias, rows=rows)


@dataclass(frozen=True)
class HeadContext:
    """What a head is built for: the encoder before it, and the items of source and target."""

    model: ModelConfig
    encoded: EncoderSizes
    vectors: Vectors  # of the source's items
    source: Items
    target: Items

    def states(self) -> int:
        """Size of the encoder's states; ConfigError without an encoder."""
        if self.encoded.states is None:
            raise ConfigError(
                f"a target of kind {self.model.decoder.kind} needs an encoder: "
                "model.encoder.kind is 'none'"
            )
        return self.encoded.states

    def labels(self) -> int:
        """Number of labels that the target can have; ConfigError where it has none."""
        if self.target.symbols is None:
            raise self.misfit()
        return self.target.symbols.count - 1  # id 0 is padding

    def misfit(self) -> ConfigError:
        """The error for a head that does not fit the target."""
        return ConfigError(
            f"model.decoder.kind = {self.model.decoder.kind!r} does not fit the target",
            remedy="leave it out, and it follows from target.kind",
        )
