"""A text that is one stream: read in lanes side by side, chunk by chunk (S6.2).

The text is cut into as many stretches of like length as there are lanes. A batch has the next chunk
of every lane, so that whatever a model carries from one chunk to the next belongs to the same text.
With a seed, every pass cuts it at other places, so that no chunk comes back: the text is then a
ring that is turned before it is cut. Which chunk comes when follows from seed and step alone
(RELIABILITY, randomness).
"""

from typing import NamedTuple

import numpy as np

from seqloom.data.batches import Indices
from seqloom.errors import ConfigError
from seqloom.randomness import key

__all__ = ["Chunk", "StreamBatches"]


class Chunk(NamedTuple):
    """Where the next tokens of each lane begin and end in the text, which begins again after its
    last token."""

    starts: Indices
    ends: Indices
    first: bool  # the lanes begin here, and nothing is carried into them


class StreamBatches:
    """An endless, numbered series of chunks; each epoch holds every token exactly once."""

    def __init__(self, tokens: int, *, lanes: int, steps: int, seed: int | None = None) -> None:
        """A text of so many tokens, in at most so many lanes and chunks of at most so many steps.

        There are fewer lanes where they would be shorter than a chunk. Without a seed, every pass
        cuts the text at the same places, the first at its beginning.
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
        """Chunk `number` of every lane, counted from 0; a lane that has ended gives no token."""
        epoch, step = divmod(number, self.per_epoch)
        bounds = self._bounds + self._offset(epoch)
        starts = np.minimum(bounds[:-1] + step * self.steps, bounds[1:])
        return Chunk(starts, np.minimum(starts + self.steps, bounds[1:]), step == 0)

    def _offset(self, epoch: int) -> int:
        """How far into the text the first lane begins in a pass."""
        return 0 if self._seed is None else key(self._seed, "lanes", epoch) % int(self._bounds[-1])
