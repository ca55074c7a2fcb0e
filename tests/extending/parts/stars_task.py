"""A task: ratings are predicted as labels are, and measured by how far off they are."""

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics import METRICS, Predictions, SumMetric
from seqloom.tasks import TASKS, LabelTask


class StarsTask(LabelTask):
    """A target of ratings."""

    kind = "stars"
    plural = "ratings"


TASKS.part("stars")(StarsTask())


@METRICS.part("within one star")
class WithinOne(SumMetric[Predictions]):
    """The share of ratings that are at most one star off, in per cent."""

    name = "within one star"
    targets = ("stars",)

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        return np.array([(abs(int(a) - int(b)) <= 1, 1) for a, b in data.pairs], np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        return 100 * float(sums[0] / sums[1])
