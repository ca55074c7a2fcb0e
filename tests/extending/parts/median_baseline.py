"""A baseline: the median of the ratings that were learnt from, for every row."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines import BASELINES, Baseline, TrainingRows


@BASELINES.part("median rating")
class MedianRating(Baseline):
    """The same for every row."""

    target = "stars"

    def outputs(self, known: TrainingRows, sources: Sequence[NDArray[np.int64]]) -> list[str]:
        middle = int(np.median(known.rows.targets))
        return [known.target.cell([middle])] * len(sources)
