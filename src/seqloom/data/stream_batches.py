"""Batches of one continuous text: parallel lanes, read chunk by chunk (S6.2).

The text is cut into lanes of equal length. A batch has the next chunk of every lane, so that a
model's carried state belongs to the same text. With a seed, every pass starts at another offset of
the text as a ring, so that chunks do not repeat. Chunks are a function of seed and step alone
(RELIABILITY, randomness).
"""

from typing import NamedTuple

import numpy as np

from seqloom.data.batches import Indices
from seqloom.errors import ConfigError
from seqloom.randomness import key

__all__ = ["Chunk", "StreamBatches"]


class Chunk(NamedTuple):
    """The start and end of each lane's next tokens; the text is a ring."""

    starts: Indices
    ends: Indices
    first: bool  # whether the lanes begin here, without carried state


class StreamBatches:
    """An infinite, numbered series of chunks; each epoch has every token exactly once."""

    def __init__(self, tokens: int, *, lanes: int, steps: int, seed: int | None = None) -> None:
        """Split `tokens` tokens into at most `lanes` lanes and chunks of at most `steps` steps.

        There are fewer lanes if they would be shorter than a chunk. Without a seed, every pass
        starts at the beginning of the text.
        """
        if not tokens:
            raise ConfigError("there is no text to read", remedy="give at least one line")
        self.count = max(1, min(lanes, tokens // steps))
        self.steps = steps
        self._seed = seed
        self._bounds = np.arange(self.count + 1, dtype=np.int64) * tokens // self.count

    @property
    def per_epoch(self) -> int:
        """Chunks in a pass over the text."""
        longest = int(np.diff(self._bounds).max())
        return -(-longest // self.steps)

    def chunk(self, number: int) -> Chunk:
        """Chunk `number` of every lane, counted from 0; empty for a lane that has ended."""
        epoch, step = divmod(number, self.per_epoch)
        bounds = self._bounds + self._offset(epoch)
        starts = np.minimum(bounds[:-1] + step * self.steps, bounds[1:])
        return Chunk(starts, np.minimum(starts + self.steps, bounds[1:]), step == 0)

    def _offset(self, epoch: int) -> int:
        """The offset of the first lane in a pass."""
        return 0 if self._seed is None else key(self._seed, "lanes", epoch) % int(self._bounds[-1])
