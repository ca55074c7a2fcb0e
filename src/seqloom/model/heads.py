"""Heads: targets that need no decoder, one for the source or one for each of its positions."""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.model.encoders import mean_state
from seqloom.model.state import Memory
from seqloom.nn.combine import TanhCombiner
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import OutputLayer

__all__ = [
    "BlanksHead",
    "CodePool",
    "LabelHead",
    "MaximumPool",
    "MeanPool",
    "NumberHead",
    "Pool",
    "TagsHead",
]


@runtime_checkable
class Pool(Protocol):
    """One vector for a whole source."""

    def __call__(self, memory: Memory) -> Float[Tensor, "B D"]: ...


class CodePool(nn.Module):
    """The top layer's last state."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        if memory.code is None:
            raise TypeError("this head judges the code, which the encoder does not give")
        return memory.code[0][:, -1]


class MeanPool(nn.Module):
    """The mean of all real positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        return mean_state(*_states(memory))


class MaximumPool(nn.Module):
    """The largest of each value over all real positions."""

    def forward(self, memory: Memory) -> Float[Tensor, "B D"]:
        states, mask = _states(memory)
        return states.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


class _LabelScores(nn.Module):
    """An affine map from a vector to the score of each label; ids begin after that of padding."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.output = nn.Linear(width, labels)

    def losses(
        self, judged: Float[Tensor, "N V"], targets: Int[Tensor, "N"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The cross-entropy of each."""
        return functional.cross_entropy(
            judged, targets - 1, reduction="none", label_smoothing=smoothing
        )

    def average(self, judged: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The logarithm of the mean probability."""
        return _mean_probability(judged)


class LabelHead(_LabelScores):
    """Scores of each label, from one vector for the source (an acceptor, S1.1, S5.6)."""

    def __init__(self, pool: Pool, width: int, labels: int, *, dropout: float = 0.0) -> None:
        super().__init__(width, labels)
        self.pool = pool
        self.dropout = Dropout(dropout)

    def forward(self, memory: Memory) -> Float[Tensor, "B 1 V"]:
        return self.output(self.dropout(self.pool(memory)))[:, None]


class TagsHead(_LabelScores):
    """Scores of each tag at each position of the source (a transducer, S1.1, S5.6)."""

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        return self.output(_states(memory)[0])


class BlanksHead(nn.Module):
    """Scores of each token of the source's vocabulary at positions that were left out of it: an
    output layer over tanh(W [before; after] + b) (S8, fill-in)."""

    def __init__(self, states: int, output: OutputLayer, *, dropout: float, around: bool) -> None:
        super().__init__()
        self.readout = TanhCombiner([states], output.width)
        self.dropout = Dropout(dropout)
        self.output = output
        self.width = output.width
        self.around = around

    def read(self, memory: Memory) -> Float[Tensor, "B S D"]:
        return self.dropout(self.readout([_states(memory)[0]]))

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def forward(self, memory: Memory) -> Float[Tensor, "B S V"]:
        return self.write(self.read(memory))

    def losses(
        self, judged: Float[Tensor, "N V"], targets: Int[Tensor, "N"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The cross-entropy of each."""
        return functional.cross_entropy(
            judged, targets, reduction="none", label_smoothing=smoothing
        )

    def average(self, judged: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The logarithm of the mean probability."""
        return _mean_probability(judged)


class NumberHead(nn.Module):
    """One number, from one vector for the source (S1.1, many-to-one)."""

    def __init__(self, pool: Pool, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.pool = pool
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(width, 1)

    def forward(self, memory: Memory) -> Float[Tensor, "B 1 1"]:
        return self.output(self.dropout(self.pool(memory)))[:, None]

    def losses(
        self, judged: Float[Tensor, "N 1"], targets: Float[Tensor, "N 1"], *, smoothing: float
    ) -> Float[Tensor, "N"]:
        """The squared error of each; there is nothing to smooth."""
        return (judged - targets).square().sum(dim=1)

    def average(self, judged: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
        """The mean number."""
        return judged.mean(0)


def _mean_probability(judged: Float[Tensor, "M B T V"]) -> Float[Tensor, "B T V"]:
    """The logarithm of the mean probability of several models."""
    return judged.log_softmax(-1).logsumexp(0) - math.log(len(judged))


def _states(memory: Memory) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
    if memory.states is None or memory.mask is None:
        raise TypeError("this head judges the encoder's states, which it does not give")
    return memory.states, memory.mask
