"""Token-level distillation: the student matches its teachers' distribution at each position.

Hinton, Vinyals and Dean 2015, Distilling the Knowledge in a Neural Network; for texts, Kim and Rush
2016, Sequence-Level Knowledge Distillation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["SoftTargets", "likeliest_symbols"]


class SoftTargets(NamedTuple):
    """The top-k symbols of each position and their probabilities, which sum to 1."""

    symbols: Int[Tensor, "*N K"]
    probabilities: Float[Tensor, "*N K"]
    share: float  # of the loss; the label gets the rest
    temperature: float

    def select(self, places: Int[Tensor, "M"]) -> "SoftTargets":
        """The targets at these positions of the flattened batch."""
        symbols, probabilities = (each.flatten(0, 1).index_select(0, places) for each in self[:2])
        return self._replace(symbols=symbols, probabilities=probabilities)

    def split(self, size: int) -> "list[SoftTargets]":
        """Chunks of so many positions."""
        parts = zip(self.symbols.split(size), self.probabilities.split(size), strict=True)
        return [self._replace(symbols=one, probabilities=other) for one, other in parts]

    def mix(self, losses: Float[Tensor, "N"], scores: Float[Tensor, "N V"]) -> Float[Tensor, "N"]:
        """Mix the losses of labels with τ² times the cross-entropy between the teachers' and the
        student's distributions at temperature τ.
        """
        logs = (scores / self.temperature).log_softmax(-1).gather(1, self.symbols)
        soft = -(self.probabilities.to(logs.dtype) * logs).sum(1) * self.temperature**2
        return (1 - self.share) * losses + self.share * soft


def likeliest_symbols(
    scores: Sequence[Float[Tensor, "N V"]], *, temperature: float, most: int
) -> tuple[Int[Tensor, "N K"], Float[Tensor, "N K"]]:
    """The top-k symbols of the mean distribution of several models, with renormalized
    probabilities.
    """
    every = torch.stack([(each / temperature).softmax(-1) for each in scores]).mean(0)
    values, symbols = every.topk(min(most, every.shape[1]), dim=-1)
    return symbols, values / values.sum(-1, keepdim=True)
