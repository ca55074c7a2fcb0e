"""The confusion matrix."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.display import Displayed
from seqloom.metrics.predictions import Predictions

__all__ = ["ConfusionMatrix"]

OTHER = "(other labels)"
MOST_LABELS = 60  # the most that a plot shows
PAIRS = 20  # listed confusions


@dataclass(frozen=True)
class ConfusionMatrix(Displayed):
    """counts[i, j]: how often the reference labels[i] was predicted as labels[j].

    Labels are those of references and outputs, sorted by frequency in the references.
    """

    labels: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, data: Predictions) -> Self:
        """Compute the matrix of labels or tags."""
        pairs = Counter(
            (reference, output)
            for row in data.labels
            for output, reference in zip(*row, strict=True)
        )
        support: Counter[str] = Counter()
        for (reference, output), count in pairs.items():
            support[reference] += count
            support[output] += 0
        labels = sorted(support, key=lambda label: (-support[label], label))
        index = {label: number for number, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), np.int64)
        for (reference, output), count in pairs.items():
            counts[index[reference], index[output]] = count
        return cls(tuple(labels), counts)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Rows normalized by their label's support; 0 for a label without references."""
        totals = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(self.counts / np.maximum(totals, 1), np.float64)

    def fold(self, most: int = MOST_LABELS) -> "ConfusionMatrix":
        """Merge the rarest labels into one, so that at most `most` remain."""
        if len(self.labels) <= most:
            return self
        kept = most - 1
        counts = np.zeros((most, most), np.int64)
        counts[:kept, :kept] = self.counts[:kept, :kept]
        counts[kept, :kept] = self.counts[kept:, :kept].sum(axis=0)
        counts[:kept, kept] = self.counts[:kept, kept:].sum(axis=1)
        counts[kept, kept] = self.counts[kept:, kept:].sum()
        return ConfusionMatrix((*self.labels[:kept], OTHER), counts)

    def confusions(self, most: int = PAIRS) -> list[tuple[str, str, int]]:
        """(reference, output, count) of the most frequent confusions."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        rows, columns = np.nonzero(wrong)
        found = [
            (self.labels[row], self.labels[column], int(wrong[row, column]))
            for row, column in zip(rows, columns, strict=True)
        ]
        return sorted(found, key=lambda each: (-each[2], each[0], each[1]))[:most]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"labels": list(self.labels), "counts": self.counts.tolist()}

    def text(self, width: int = 80) -> str:
        """Render the matrix if it fits a terminal of this width, else a list of its confusions."""
        cell = max(2, len(f"{self.counts.max():,}")) + 1
        names = max(len(label) for label in self.labels)
        numbers = [str(number) for number in range(1, len(self.labels) + 1)]
        room = len(numbers[-1]) + 1 + names + cell * len(self.labels)
        if room > width:
            return "\n".join(self._list())
        lines = [" " * (room - cell * len(numbers)) + "".join(f"{n:>{cell}}" for n in numbers)]
        for number, label, row in zip(numbers, self.labels, self.counts, strict=True):
            shown = "".join(f"{count:>{cell},}" if count else f"{'·':>{cell}}" for count in row)
            lines.append(f"{number:>{len(numbers[-1])}} {label:<{names}}{shown}")
        return "\n".join(["rows: references, columns: outputs", *lines])

    def _list(self) -> list[str]:
        found = self.confusions()
        if not found:
            return [f"no confusions among {len(self.labels):,} labels"]
        wide = max(len(reference) for reference, _, _ in found)
        return ["most frequent confusions (reference → output)"] + [
            f"{reference:>{wide}} → {output}  {count:,}" for reference, output, count in found
        ]
