"""Pruning by a strict threshold keeps one path too few."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table

__all__ = ["threshold_pruning_lesson"]

CARE = "the comparison is strict, so the K-th path itself is lost, and K = 1 keeps nothing: use ≥"


@lesson("threshold-pruning", "Attention Models: pseudocode of prune", chapter="search")
def threshold_pruning_lesson(
    *, scores: tuple[float, ...] = (0.4, 0.1, 0.3, 0.05, 0.15), beam: int = 3
) -> LessonResult:
    """A path is kept if its score reaches the K-th largest; “greater than” keeps K − 1."""
    bound = sorted(scores, reverse=True)[beam - 1]
    strict = [each for each in scores if each > bound]
    kept = [each for each in scores if each >= bound]
    best = [each for each in scores if each > max(scores)]
    rows = [("score", "> bound", "≥ bound")]
    rows += [(f"{each:.2f}", "kept" if each in strict else "", "kept" if each in kept else "")
             for each in scores]  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("kept with ≥", beam, len(kept), by_hand=True),
            ComparedNumber("kept with >", beam, len(strict), care=CARE),
            ComparedNumber("kept with > for K = 1", 1, len(best), care=CARE),
        ),
        f"bound: {bound}\n" + text_table(rows),
    )
