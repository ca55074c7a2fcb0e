"""What a search gives."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

__all__ = ["Alternatives", "Hypothesis"]

Alternatives = tuple[tuple[int, float], ...]
"""Tokens and their log-probabilities, the likeliest first."""


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens, and how likely each was after those before it (S7.4)."""

    tokens: tuple[int, ...]  # without `<end>`
    token_scores: tuple[float, ...]  # with that of `<end>` where it was written
    finished: bool  # ended in `<end>`, rather than at the length limit
    rank_score: float  # what outputs were compared by
    attention: Float[np.ndarray, "T S"] | None = None
    alternatives: tuple[Alternatives, ...] = ()  # of each step, where they were noted
    limited: bool = False  # time or work ran out before the search was sure of this output

    @property
    def score(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.token_scores)
