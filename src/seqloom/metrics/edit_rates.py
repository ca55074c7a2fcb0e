"""Written outputs against written references by the edits that lead from one to the other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.metrics.score import Score, check_rows, score_rows

__all__ = ["edit_distance", "edit_scores"]


def edit_scores(
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    seed: int | None = 1,
) -> list[Score]:
    """Word and character error rates in per cent: the edits of all rows, in the words or characters
    of all references, which may be more than 100 (S8)."""
    check_rows(outputs, references)
    if lowercase:
        outputs, references = [o.lower() for o in outputs], [r.lower() for r in references]
    words = [(o.split(), r.split()) for o, r in zip(outputs, references, strict=True)]
    characters = [(" ".join(o), " ".join(r)) for o, r in words]
    case = f"case:{'lc' if lowercase else 'mixed'}|rows:{len(words)}"
    return [
        Score(name, *score_rows(_counts(pairs), _rate, seed=seed), signature=case)
        for name, pairs in (("WER", words), ("CER", characters))
    ]


def edit_distance(output: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest items to insert, leave out or replace in one to get the other."""
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(output, reference))


def _counts(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> NDArray[np.float64]:
    return np.array([(edit_distance(*pair), len(pair[1])) for pair in pairs], np.float64)


def _rate(sums: NDArray[np.float64]) -> float:
    """Edits per item of the references; where those are empty, any edit is infinitely many."""
    made, items = map(float, sums)
    if not items:
        return float("inf") if made else 0.0
    return 100 * made / items
