"""Attention of a trained decoder to its source."""

import numpy as np

from seqloom.explain import AttentionMap
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.trainings import strings, trained

__all__ = ["alignments_lesson"]


@lesson(
    "alignments", "Attention Models: alignments (Bahdanau et al.)",
    "EE 628: seq2seq with attention, which word looks where", chapter="attention", trains=True,
)  # fmt: skip
def alignments_lesson(*, updates: int = 200, text: str = "hfabdcgi") -> LessonResult:
    """A decoder that copies a string in capitals looks at the letter it copies: a diagonal."""
    pairs = [(each, each.upper()) for each, _ in strings(3_000, shortest=3, longest=8)]
    options = {"training": {"updates": updates}}
    with trained(pairs, options) as model:
        output = model(text)
    weights = np.array(output.attention)
    source, target = (*text, "<end>"), (*output.text, "<end>")
    places = np.arange(min(weights.shape))
    near = [weights[t, max(0, t - 1) : t + 2].sum() for t in places]
    largest = [int(weights[t].argmax()) - t for t in places]
    return LessonResult(
        (
            ComparedNumber("written", text.upper(), output.text, by_hand=True),
            ComparedNumber("smallest sum of a row", 1, float(weights.sum(axis=1).min()), 1e-5,
                           by_hand=True),
            ComparedNumber("mean weight within one place of the diagonal", None,
                           float(np.mean(near))),
            ComparedNumber("is the largest weight within one place, at each step", "yes",
                           "yes" if max(map(abs, largest)) <= 1 else "no"),
        ),
        view=AttentionMap(source[: weights.shape[1]], target[: weights.shape[0]], weights),
    )  # fmt: skip
