"""CTC best path decoding: the most probable symbol of every source step (S1.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from seqloom.config.searches import SEARCHES, BestPathOptions
from seqloom.errors import ConfigError
from seqloom.search.labellings import Labelling, LabellingSearch, symbol_changes
from seqloom.search.protocol import Search

__all__ = ["BestPath"]


@SEARCHES.part("best-path")
@dataclass(frozen=True)
class BestPath(BestPathOptions, LabellingSearch):
    """CTC: the most probable symbol of every source step, with repeats merged and blanks dropped;
    the labelling of the best path, not always the best labelling.

    Graves et al. 2006, Connectionist Temporal Classification, section 3.2.
    """

    @property
    def paths(self) -> int:
        return 1

    @property
    def count(self) -> int:
        return 1

    def with_outputs(self, n_best: int) -> Search:
        if n_best > 1:
            raise ConfigError(
                "the best path gives one output", remedy="use a prefix beam for several"
            )
        return self

    def labellings(self, frames: Float[np.ndarray, "S V"], longest: int) -> Sequence[Labelling]:
        return [symbol_changes(frames.argmax(axis=1))[:longest]]
