"""Labels against labels: accuracy and F1, for whole rows and for tags (SPEC S8)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.fields.tokenizers import split_symbols
from seqloom.metrics.match import accuracy, share_right
from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["label_scores", "tag_scores"]

MOST_CLASSES = 1_000  # that F1 is averaged over with intervals


def label_scores(
    outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """Accuracy and macro F1 in per cent, on the same resamples."""
    outputs, references = [each.strip() for each in outputs], [each.strip() for each in references]
    pairs = [([output], [label]) for output, label in zip(outputs, references, strict=False)]
    return [accuracy(outputs, references, seed=seed), _macro_f1(pairs, seed=seed)]


def tag_scores(
    outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """Accuracy over all tags, macro F1 over kinds of tags, and rows that are right throughout.

    Tags stand between spaces, as their field cuts them; other white space is part of one.
    """
    check_rows(outputs, references)
    pairs = [
        (split_symbols(output), split_symbols(reference))
        for output, reference in zip(outputs, references, strict=True)
    ]
    for number, (found, wanted) in enumerate(pairs, 1):
        if len(found) != len(wanted):
            raise DataError(
                f"row {number}: {len(found)} tags cannot be compared with {len(wanted)}; give "
                "each token one tag"
            )
    rows = np.array([(sum(map(str.__eq__, *pair)), len(pair[1])) for pair in pairs], np.float64)
    whole = accuracy([o for o, _ in pairs], [r for _, r in pairs], seed=seed)
    return [
        share_right(rows, what="tags", seed=seed),
        _macro_f1(pairs, seed=seed),
        replace(whole, name="whole rows"),
    ]


def _macro_f1(pairs: Sequence[tuple[list[str], list[str]]], *, seed: int | None) -> Score:
    """The mean over the references' kinds of 2 × right / (given + wanted), in per cent."""
    kinds = {kind: n for n, kind in enumerate(sorted({k for _, row in pairs for k in row}))}
    counts = np.zeros((len(pairs), 2, len(kinds)))  # right; given and wanted
    for row, (found, wanted) in enumerate(pairs):
        for given, kind in zip(found, wanted, strict=True):
            counts[row, 1, kinds[kind]] += 1
            if given in kinds:
                counts[row, 1, kinds[given]] += 1
                counts[row, 0, kinds[given]] += given == kind

    def measure(sums: NDArray[np.float64]) -> float:
        right, asked = sums.reshape(2, -1)
        there = asked > 0
        return 100 * float(np.mean(2 * right[there] / asked[there]))

    draws = seed if len(kinds) <= MOST_CLASSES else None
    value, low, high = score_rows(counts.reshape(len(pairs), -1), measure, seed=draws)
    return Score("macro F1", value, low, high, f"kinds:{len(kinds)}")
