"""The metrics that fit each kind of target (S8)."""

from collections.abc import Callable, Sequence

from seqloom.metrics.edit_rates import edit_scores
from seqloom.metrics.labels import label_scores, tag_scores
from seqloom.metrics.numbers import number_scores
from seqloom.metrics.score import Score
from seqloom.metrics.text import text_scores

__all__ = ["all_text_scores", "leading_score", "target_scores"]


def all_text_scores(
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    seed: int | None = 1,
) -> list[Score]:
    """What is said of texts: how much of them is right, and how much has to be edited."""
    return [
        *text_scores(outputs, references, lowercase=lowercase, seed=seed),
        *edit_scores(outputs, references, lowercase=lowercase, seed=seed),
    ]


Metric = Callable[..., list[Score]]
METRICS: dict[str, Metric] = {
    "text": all_text_scores,
    "label": label_scores,
    "tags": tag_scores,
    "number": number_scores,
}
LEADING_METRICS = {"text": "chrF", "series": "R²"}  # elsewhere the first


def target_scores(
    kind: str, outputs: Sequence[str], references: Sequence[str], *, seed: int | None = 1
) -> list[Score]:
    """What is said of outputs of this kind; without a seed no intervals are drawn."""
    return METRICS[kind](outputs, references, seed=seed)


def leading_score(kind: str, scores: Sequence[Score]) -> Score:
    """The score that a run is judged by; larger is better."""
    return next((each for each in scores if each.name == LEADING_METRICS.get(kind)), scores[0])
