"""Baselines of text outputs: a copy of the source, and the most frequent target (S8)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.baselines.labels import BASELINES, Baseline, TrainingRows

__all__ = ["CommonestTarget", "SourceCopy"]

Ids = NDArray[np.int64]
MOST_ROWS = 1_000_000  # rows whose targets are counted


@BASELINES.part("copy of the source")
class SourceCopy(Baseline):
    """A copy of the source."""

    target = "text"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source."""
        if not known.source.is_text:
            return None
        return [known.source.cell(source) for source in sources]


@BASELINES.part("commonest target")
class CommonestTarget(Baseline):
    """The most frequent target of the training rows, the first among equals, for every row."""

    target = "text"

    def outputs(self, known: TrainingRows, sources: Sequence[Ids]) -> list[str] | None:
        """A cell for each source; None if no target occurs twice."""
        if len(known.rows) > MOST_ROWS:
            return None
        values, rows = known.rows.flat("target", closing=known.target.closing)
        ends = np.searchsorted(rows, np.arange(1, len(known.rows)))
        counts = Counter(row.tobytes() for row in np.split(np.ascontiguousarray(values), ends))
        ((best, times),) = counts.most_common(1)
        if times < 2:
            return None
        return [known.target.cell(np.frombuffer(best, values.dtype))] * len(sources)
