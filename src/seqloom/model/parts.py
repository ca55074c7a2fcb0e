"""Base classes of encoders, decoders, heads and front ends.

A part builds itself from its options and the sizes around it. It is registered in its family under
the name used in configurations: `@ENCODERS.part("mine")`, `@DECODERS.part("mine")` and so on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.config import (
    FRONT_ENDS,
    ModelConfig,
)
from seqloom.errors import ConfigError
from seqloom.fields import Items
from seqloom.model.connections import (
    CODE,
    SOURCE,
    STATES,
    Connection,
    ConnectionNode,
    Connections,
    ReadingOrder,
)
from seqloom.model.state import Features, Feedback, FillingHead, Memory, Source
from seqloom.nn.embedding import OutputLayer, Vectors, embedding_of, listed_rows

__all__ = [
    "DecoderModule",
    "DecoderSizes",
    "EncoderModule",
    "EncoderSizes",
    "FrontEnd",
    "Head",
    "HeadContext",
    "NoFrontEnd",
    "Pooling",
    "WrappingEncoder",
    "front_end_misfit",
]


class EncoderSizes(NamedTuple):
    """The sizes of an encoder's states and code; None for those it lacks."""

    states: int | None = None
    code: tuple[int, int] | None = None  # layers, width
    parts: int = 1  # tensors in the code
    around: bool = False  # no state depends on the item at its own position


@dataclass(frozen=True)
class DecoderSizes:
    """The context a decoder is built in: its encoder, and the target it reads and writes."""

    model: ModelConfig
    source: EncoderSizes
    vectors: Vectors  # of the target's items
    outputs: int  # numbers written at a step

    def output_layer(self, width: int) -> OutputLayer:
        """An output layer for features of this width, tied to the embedding if configured."""
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
    """The context a head is built in: its encoder, and the items of source and target."""

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
        """Number of labels of the target; ConfigError if it has none."""
        if self.target.symbols is None:
            raise self.misfit()
        return self.target.symbols.count - 1  # id 0 is padding

    def misfit(self) -> ConfigError:
        """The error for a head that does not fit the target."""
        return ConfigError(
            f"model.decoder.kind = {self.model.decoder.kind!r} does not fit the target",
            remedy="leave it out, and it follows from target.kind",
        )


Pooling = Literal["code", "mean", "max", "all"]
"""What a head reads of the source: the last state, the mean or maximum of all, or each of them."""


class FrontEnd(nn.Module):
    """Layers that turn pixels or frames into vectors before the encoder."""

    width: int
    """Size of the vectors."""

    keeps_time: ClassVar[bool] = False
    """Whether its vectors are steps of time, to which CTC can align symbols."""

    @classmethod
    def build(cls, options: Any, source: Items) -> "FrontEnd | None":
        """Build the front end for a source; None if the encoder reads the source directly."""
        raise NotImplementedError

    def forward(self, source: Source) -> Source:
        """Compute vectors from pixels or frames."""
        raise NotImplementedError

    @property
    def keeps_items(self) -> bool:
        """Whether each source item becomes one vector, which can have a tag."""
        return False

    def grid_shape(self, positions: int) -> tuple[int, int]:
        """The grid (rows, columns) of so many vectors of a picture; one row for other sources."""
        return 1, positions

    def receptive_field(self, position: int, items: int) -> Sequence[int]:
        """The source items that a vector is computed from."""
        return range(items)


def front_end_misfit(kind: str) -> ConfigError:
    """The error for a front end that does not fit the source."""
    return ConfigError(
        f"model.front.kind = {kind!r} does not fit the source",
        remedy="leave it out, and it follows from source.kind",
    )


@FRONT_ENDS.part("none")
class NoFrontEnd(FrontEnd):
    """No front end: the encoder reads the source directly."""

    @classmethod
    def build(cls, options: Any, source: Items) -> None:
        if source.pixels is not None:
            raise front_end_misfit("none")


class EncoderModule(nn.Module):
    """An encoder that is part of a network."""

    has_source: ClassVar[bool] = True
    """Whether the decoder receives anything of the source."""

    reads_values: ClassVar[bool] = False
    """Whether numbers are read directly, without a learned projection."""

    @classmethod
    def build(cls, options: Any, vectors: Vectors) -> "EncoderModule":
        """Build the encoder with these options over the source's embedding layer."""
        raise NotImplementedError

    @property
    def sizes(self) -> EncoderSizes:
        """The sizes of its memory."""
        raise NotImplementedError

    @property
    def gives_code(self) -> bool:
        """Whether it summarizes the source in one vector, the code."""
        return self.sizes.code is not None

    @property
    def order(self) -> ReadingOrder:
        """The order in which it reads the source, and the order of its states."""
        return ReadingOrder()

    @property
    def front_end(self) -> FrontEnd | None:
        """The front end, if there is one."""
        return None

    def encode(self, source: Source) -> Memory:
        """Encode a batch of sources."""
        raise NotImplementedError

    def layer_states(self, source: Source) -> list[Float[Tensor, "B S _"]]:
        """The hidden states of each layer, in source order: first the input of the lowest layer,
        last the encoder's states (S1.5).
        """
        states, _ = self.encode(source).states_and_mask()
        return [states]

    def grid_shape(self, positions: int) -> tuple[int, int]:
        """The grid (rows, columns) of so many states of a picture; one row for other sources."""
        front = self.front_end
        return (1, positions) if front is None else front.grid_shape(positions)

    def connections(self) -> Connections:
        """The edges by which the encoder is drawn; by default every state depends on every item."""
        nodes = (
            ConnectionNode(SOURCE, "source"),
            ConnectionNode("encoder.input", "input"),
            ConnectionNode(STATES, "states"),
            ConnectionNode(CODE, "code", once=True),
        )
        edges = (
            Connection(SOURCE, "encoder.input"),
            Connection("encoder.input", STATES, "up", "all"),
            Connection("encoder.input", CODE, "pooling", "all"),
        )
        return Connections(nodes, edges)


class WrappingEncoder(EncoderModule):
    """Base of encoders that wrap another and change its input or output."""

    inner: EncoderModule

    @property
    def sizes(self) -> EncoderSizes:
        return self.inner.sizes

    @property
    def order(self) -> ReadingOrder:
        return self.inner.order

    @property
    def front_end(self) -> FrontEnd | None:
        return self.inner.front_end

    def connections(self) -> Connections:
        return self.inner.connections()


class DecoderModule(nn.Module):
    """A decoder that is part of a network."""

    carries_state: ClassVar[bool] = False
    """Whether its state has a fixed size, so that a text of any length can be read in chunks."""

    sums_alignments: ClassVar[bool] = False
    """Whether it is trained by CTC: called with the encoder's states for the logits of each "
      "symbol at each step (S1.1)."""

    @classmethod
    def build(cls, options: Any, sizes: DecoderSizes) -> "DecoderModule":
        """Build the decoder with these options; ConfigError if they do not fit the sizes."""
        raise NotImplementedError

    @classmethod
    def reads_source(cls, options: Any) -> bool:
        """Whether such a decoder reads the source's embeddings before its own output (S3.2 g)."""
        return False

    @property
    def width(self) -> int:
        """Size D of its features, which the output layer reads."""
        raise NotImplementedError

    @property
    def attends(self) -> bool:
        """Whether it attends to the source, so that there are attention weights to show."""
        return False

    @property
    def feedback(self) -> Feedback | None:
        """How it reads its own outputs in training; None if it cannot."""
        return None

    def start(self, memory: Memory, *, trace: bool = False) -> Any:
        """The state before the first input, one row a sentence."""
        raise NotImplementedError

    def read(self, inputs: Int[Tensor, "R T"], state: Any) -> tuple[Features, Any]:
        """Read T more tokens for each row; reading T at once equals T reads of one."""
        raise NotImplementedError

    def read_vectors(self, vectors: Float[Tensor, "R T E"], state: Any) -> tuple[Features, Any]:
        """Read T more input vectors, which need not be token embeddings."""
        raise NotImplementedError

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        """Unnormalized log-probabilities of the next token, for any leading shape."""
        raise NotImplementedError

    def layer_states(
        self, inputs: Int[Tensor, "B T"], memory: Memory
    ) -> list[Float[Tensor, "B T _"]]:
        """The hidden states of each layer for each token read: first the input of the lowest layer,
        last the input of the output layer (S1.5).
        """
        features, _ = self.read(inputs, self.start(memory))
        return [features.hidden]

    def connections(self) -> Connections:
        """The edges by which the decoder is drawn.

        By default every output depends on all of the source and on every token before it.
        """
        return Connections(
            (ConnectionNode("decoder.input", "input"), ConnectionNode("decoder.output", "output")),
            (
                Connection("decoder.output", "decoder.input", "feedback", "previous"),
                Connection("decoder.input", "decoder.output", "up", "until"),
                Connection(STATES, "decoder.output", "context", "all"),
            ),
        )


class Head(nn.Module):
    """Predicts targets that are not generated step by step, in place of a decoder."""

    loss_name: ClassVar[str] = "cross-entropy"
    """What `losses` measures."""

    output_name: ClassVar[str] = "output"
    """A short name of its output."""

    forecasts: ClassVar[bool] = False
    """Whether it gives the next steps of a series."""

    is_aligned: ClassVar[bool] = False
    """Whether it gives an output for each item of the source."""

    feeds_back: ClassVar[bool] = False
    """Whether a step reads the previous output, so that training uses teacher forcing."""

    temperature: float = 1.0
    """The calibration temperature of its scores."""

    __call__: Callable[..., Tensor]

    def divide_scores(self, temperature: float) -> None:
        """Divide class scores by this temperature (calibration); a no-op for other heads."""

    @classmethod
    def build(cls, options: Any, context: HeadContext) -> "Head":
        """Build the head with these options; ConfigError if it does not fit encoder or target."""
        raise NotImplementedError

    @classmethod
    def reads_source(cls, options: Any) -> bool:
        """Heads read the encoder's states only."""
        return False

    @property
    def pooling(self) -> Pooling:
        """What it reads of the source."""
        return "all"

    @property
    def filling_head(self) -> FillingHead | None:
        """Itself, if it predicts masked tokens of the source."""
        return None

    @property
    def decoder_part(self) -> DecoderModule | None:
        """The decoder inside it, if it works step by step."""
        return None

    def forward(self, memory: Memory) -> Float[Tensor, "B T V"]:
        """Scores of each label, or numbers, for each position of the target."""
        raise NotImplementedError

    def teacher_force(self, memory: Memory, target: Tensor) -> Float[Tensor, "B T V"]:
        """The outputs in training, where steps that read earlier outputs read true ones (S6.3)."""
        return self(memory)

    def losses(
        self, outputs: Float[Tensor, "N V"], targets: Tensor, *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The loss of each output: nats, or a squared error."""
        raise NotImplementedError

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The average output of several models."""
        raise NotImplementedError

    def connections(self) -> Connections:
        """The edges by which the head is drawn."""
        raise NotImplementedError
