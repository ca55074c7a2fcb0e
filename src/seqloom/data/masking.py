"""Masked tokens of a batch, a function of (seed, step, row) alone."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config import BlanksConfig
from seqloom.data.batches import Indices
from seqloom.data.corpus import Batch
from seqloom.randomness import key
from seqloom.tokenizers.specials import BLANK, EMPTY

__all__ = ["Masking"]

VALIDATION_STEP = -1  # in place of a training step


@dataclass(frozen=True, eq=False)
class Masking:
    """Draws a mask for every step and row, independent of ranks, batches and restarts.

    By configuration some masked tokens stay or are replaced; targets are the masked tokens, and
    `<empty>` elsewhere, which has no loss.
    """

    config: BlanksConfig
    fillable: NDArray[np.bool_]  # ids that can be masked
    seed: int

    @property
    def all_positions(self) -> Self:
        """The masking for models in which no position sees itself: all positions are predicted."""
        return replace(self, config=self.config.model_copy(update={"share": 1.0, "kept": 1.0}))

    def mask(self, batch: Batch, step: int = VALIDATION_STEP) -> Batch:
        """Mask a batch of whole texts for this step."""
        source, target = batch.source.copy(), np.full_like(batch.target, EMPTY)
        for place, row in enumerate(batch.indices.tolist()):
            tokens = batch.target[place, : batch.target_lengths[place]]
            asked, read = self._mask_row(np.asarray(tokens, np.int64), step, row)
            target[place, asked] = tokens[asked]
            source[place, asked] = read
        return batch._replace(source=source, target=target)

    def _mask_row(self, tokens: Indices, step: int, row: int) -> tuple[Indices, NDArray[np.int64]]:
        """The masked positions of a row, and the tokens read there."""
        generator = np.random.default_rng(key(self.seed, "gaps", step, row))
        known = np.flatnonzero(self.fillable[tokens])
        drawn = generator.random(len(known))
        chosen = drawn < self.config.share
        if len(known) and not chosen.any():
            chosen[drawn.argmin()] = True
        asked = known[chosen]
        read = np.full(len(asked), BLANK)
        fate = generator.random(len(asked))
        kept = fate < self.config.kept
        other = ~kept & (fate < self.config.kept + self.config.replaced)
        read[kept] = tokens[asked[kept]]
        read[other] = generator.choice(np.flatnonzero(self.fillable), int(other.sum()))
        return asked, read
