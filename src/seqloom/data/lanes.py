"""A text that is one stream: read in lanes side by side, chunk by chunk (SPEC S6.2).

The text is cut into as many stretches of like length as there are lanes. A batch has the next chunk
of every lane, so that whatever a model carries from one chunk to the next belongs to the same text.
Which chunk that is follows from the step alone (RELIABILITY, randomness).
"""

from typing import NamedTuple

import numpy as np

from seqloom.data.batches import Indices
from seqloom.errors import ConfigError

__all__ = ["Chunk", "Lanes"]


class Chunk(NamedTuple):
    """Where the next tokens of each lane begin and end in the text."""

    starts: Indices
    ends: Indices
    first: bool  # the lanes begin here, and nothing is carried into them


class Lanes:
    """An endless, numbered series of chunks; each epoch holds every token exactly once."""

    def __init__(self, tokens: int, *, lanes: int, steps: int) -> None:
        """A text of so many tokens, in at most so many lanes and chunks of at most so many steps.

        There are fewer lanes where they would be shorter than a chunk.
        """
        if not tokens:
            raise ConfigError("there is no text to read; give at least one line")
        self.count = max(1, min(lanes, tokens // steps))
        self.steps = steps
        self._bounds = np.arange(self.count + 1, dtype=np.int64) * tokens // self.count

    @property
    def per_epoch(self) -> int:
        """Chunks in a pass over the text."""
        longest = int(np.diff(self._bounds).max())
        return -(-longest // self.steps)

    def chunk(self, number: int) -> Chunk:
        """Chunk `number` of every lane, counted from 0; a lane that has ended gives no token."""
        step = number % self.per_epoch
        begins, ends = self._bounds[:-1], self._bounds[1:]
        starts = np.minimum(begins + step * self.steps, ends)
        return Chunk(starts, np.minimum(starts + self.steps, ends), step == 0)
