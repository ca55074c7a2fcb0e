"""Heads: outputs for the whole source or for each of its positions, without a decoder."""

import math
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.config import (
    HEADS,
    BlanksHeadConfig,
    LabelHeadConfig,
    NumberHeadConfig,
    PooledOptions,
    TagsHeadConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.connections import (
    CODE,
    STATES,
    Connection,
    ConnectionNode,
    Connections,
)
from seqloom.model.encoders import mean_state
from seqloom.model.parts import DecoderSizes, Head, HeadContext, Pooling
from seqloom.model.state import Memory
from seqloom.nn.embedding import OutputLayer
from seqloom.nn.modules import ConcatCombiner, Dropout, Readout, TanhCombiner

__all__ = [
    "BlanksHead",
    "CodePool",
    "LabelHead",
    "LabelScores",
    "MaximumPool",
    "MeanPool",
    "NumberHead",
    "Pool",
    "TagsHead",
]


OUTPUT = "head.output"


class Pool(nn.Module):
    """One vector for a whole source."""

    name: ClassVar[Literal["code", "mean", "max"]] = "mean"

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        """The vector of each source."""
        raise NotImplementedError


class CodePool(Pool):
    """The top layer's last state."""

    name = "code"

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        if memory.code is None:
            raise TypeError("this head reads the code, which the encoder does not give")
        return memory.code[0][:, -1]


class MeanPool(Pool):
    """The mean of all real positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        return mean_state(*memory.states_and_mask())


class MaximumPool(Pool):
    """The maximum of each value over all real positions."""

    name = "max"

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        states, mask = memory.states_and_mask()
        return states.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


def _pool(options: PooledOptions, context: HeadContext) -> tuple[Pool, Readout]:
    """The pooling of a head over the whole source, and the read-out of its vector."""
    states, code = context.states(), context.encoded.code
    if options.pool == "code" and code is not None:
        return CodePool(), Readout(code[1], options.readout)
    pools: dict[str, type[Pool]] = {"code": CodePool, "mean": MeanPool, "max": MaximumPool}
    return pools[options.pool](), Readout(states, options.readout)


class _PooledHead(Head):
    """A head that reads one vector for the whole source."""

    pool: Pool

    @property
    def pooling(self) -> Pooling:
        return self.pool.name

    def connections(self) -> Connections:
        edge = Connection(STATES, OUTPUT, "pooling", "all")
        if self.pooling == "code":
            edge = Connection(CODE, OUTPUT, "pooling", "head-first")
        node = ConnectionNode(OUTPUT, "output", once=True, label=self.output_name)
        return Connections((node,), (edge,))


class LabelScores(Head):
    """A head that gives the score of each label; label ids start after padding's."""

    @property
    def last_layer(self) -> nn.Linear:
        """The layer that computes the scores."""
        raise NotImplementedError

    def divide_scores(self, temperature: float) -> None:
        """Fold the temperature into the last layer, so that every use of the head has it."""
        self.temperature *= temperature
        with torch.no_grad():
            self.last_layer.weight.div_(temperature)
            self.last_layer.bias.div_(temperature)

    def losses(
        self, outputs: Float[Tensor, "N V"], targets: Int[Tensor, "N"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        return functional.cross_entropy(
            outputs, targets - 1, reduction="none", label_smoothing=smoothing
        )

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The logarithm of the mean probability."""
        return _mean_probability(outputs)


class _ReadoutScores(LabelScores):
    """A readout and an output layer from a vector to label scores."""

    def __init__(self, readout: Readout, labels: int) -> None:
        super().__init__()
        self.readout = readout
        self.output = nn.Linear(readout.width, labels)

    @property
    def last_layer(self) -> nn.Linear:
        return self.output


@HEADS.part("label")
class LabelHead(_PooledHead, _ReadoutScores):
    """Classifies the whole source from a pooled vector (an acceptor, S1.1, S5.6)."""

    output_name = "label"

    def __init__(self, pool: Pool, readout: Readout, labels: int, *, dropout: float = 0.0) -> None:
        super().__init__(readout, labels)
        self.pool = pool
        self.dropout = Dropout(dropout)

    @classmethod
    def build(cls, options: LabelHeadConfig, context: HeadContext) -> "LabelHead":
        return cls(*_pool(options, context), context.labels(), dropout=options.dropout)

    def forward(self, memory: Memory) -> Float[Tensor, "B 1 V"]:
        return self.output(self.readout(self.dropout(self.pool(memory))))[:, None]


@HEADS.part("tags")
class TagsHead(_ReadoutScores):
    """Tags each position of the source (a transducer, S1.1, S5.6)."""

    output_name = "tag"
    is_aligned = True

    @classmethod
    def build(cls, options: TagsHeadConfig, context: HeadContext) -> "TagsHead":
        return cls(Readout(context.states(), options.readout), context.labels())

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        return self.output(self.readout(memory.states_and_mask()[0]))

    def connections(self) -> Connections:
        return _position_connections(self.output_name)


@HEADS.part("blanks")
class BlanksHead(Head):
    """Predicts masked tokens of the source: an output layer over tanh(W [before; after] + b), or
    over the states themselves (S8, fill-in).

    Melamud et al. 2016, context2vec.
    """

    output_name = "token"

    def __init__(
        self,
        readout: ConcatCombiner | TanhCombiner,
        output: OutputLayer,
        *,
        dropout: float,
        around: bool,
    ) -> None:
        super().__init__()
        self.readout = readout
        self.dropout = Dropout(dropout)
        self.output = output
        self.width = output.width
        self.around = around

    @classmethod
    def build(cls, options: BlanksHeadConfig, context: HeadContext) -> "BlanksHead":
        encoded, symbols = context.encoded, context.target.symbols
        if encoded.states is None or symbols is None:
            raise ConfigError(
                "model.decoder.kind = 'blanks' tells tokens of a text that an encoder reads",
                remedy="leave it out, and it follows from target.kind",
            )
        sizes = DecoderSizes(context.model, encoded, context.vectors, symbols.count)
        readout: ConcatCombiner | TanhCombiner = ConcatCombiner([encoded.states])
        if options.readout == "perceptron":
            readout = TanhCombiner([encoded.states], context.model.embedding)
        output = sizes.output_layer(readout.width)
        return cls(readout, output, dropout=options.dropout, around=encoded.around)

    @property
    def filling_head(self) -> "BlanksHead":
        return self

    def read(self, memory: Memory) -> Float[Tensor, "B S D"]:
        return self.dropout(self.readout([memory.states_and_mask()[0]]))

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        return self.write(self.read(memory))

    def teacher_force(self, memory: Memory, target: Tensor) -> Float[Tensor, "B S D"]:
        """The features that `write` maps to token scores."""
        return self.read(memory)

    def losses(
        self, outputs: Float[Tensor, "N V"], targets: Int[Tensor, "N"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        return functional.cross_entropy(
            outputs, targets, reduction="none", label_smoothing=smoothing
        )

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The logarithm of the mean probability."""
        return _mean_probability(outputs)

    def connections(self) -> Connections:
        return _position_connections(self.output_name)


@HEADS.part("number")
class NumberHead(_PooledHead):
    """One number, from one vector for the source (S1.1, many-to-one)."""

    loss_name = "squared error"
    output_name = "number"

    def __init__(self, pool: Pool, readout: Readout, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.pool = pool
        self.dropout = Dropout(dropout)
        self.readout = readout
        self.output = nn.Linear(readout.width, 1)

    @classmethod
    def build(cls, options: NumberHeadConfig, context: HeadContext) -> "NumberHead":
        pool, readout = _pool(options, context)
        if context.target.symbols is not None or context.target.pixels is not None:
            raise context.misfit()
        return cls(pool, readout, dropout=options.dropout)

    def forward(self, memory: Memory) -> Float[Tensor, "B 1 1"]:
        return self.output(self.readout(self.dropout(self.pool(memory))))[:, None]

    def losses(
        self, outputs: Float[Tensor, "N 1"], targets: Float[Tensor, "N 1"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The squared errors; label smoothing does not apply."""
        return (outputs - targets).square().sum(dim=1)

    def average(self, outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The mean number."""
        return outputs.mean(0)


def _mean_probability(outputs: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
    """The logarithm of the mean probability of several models."""
    return outputs.log_softmax(-1).logsumexp(0) - math.log(len(outputs))


def _position_connections(name: str) -> Connections:
    """An output for each position of the source."""
    node = ConnectionNode(OUTPUT, "output", label=name)
    return Connections((node,), (Connection(STATES, OUTPUT),))
