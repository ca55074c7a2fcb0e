"""A metric: characters of the outputs in per cent of those of the references."""

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics import METRICS, Predictions, SumMetric


@METRICS.part("length ratio")
class LengthRatio(SumMetric[Predictions]):
    """100 where outputs are as long as their references."""

    name = "length ratio"
    targets = ("text",)

    def statistics(self, data: Predictions) -> NDArray[np.float64]:
        return np.array([(len(output), len(wanted)) for output, wanted in data.pairs], np.float64)

    def combine(self, sums: NDArray[np.float64]) -> float:
        return 100 * float(sums[0] / sums[1])
