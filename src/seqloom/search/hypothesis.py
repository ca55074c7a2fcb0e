"""The result of a search."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

__all__ = ["Alternatives", "Hypothesis"]

Alternatives = tuple[tuple[int, float], ...]
"""Tokens and their log-probabilities, most probable first."""


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens, and the log-probability of each given those before it (S7.4)."""

    tokens: tuple[int, ...]  # without `<end>`
    token_scores: tuple[float, ...]  # including `<end>` if it was written
    finished: bool  # ended in `<end>`, rather than at the length limit
    rank_score: float  # the rank of the output
    attention: Float[np.ndarray, "T S"] | None = None
    alternatives: tuple[Alternatives, ...] = ()  # of each step, if noted
    limited: bool = False  # a limit stopped the search before this output was proved

    @property
    def score(self) -> float:
        """The log-probability of the whole output."""
        return sum(self.token_scores)
