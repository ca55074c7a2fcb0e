"""Reversed sources, and the distance of each word from its translation."""

import torch

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.nn.recurrent import reverse

__all__ = ["reversal_lesson"]

CARE = (
    "the text says that words come nearer on average; only the first pairs do, and the mean does "
    "not fall"
)


@lesson(
    "reversal", "Attention Models: reversing the input", "Chapter 7: reversed text",
    chapter="training",
)  # fmt: skip
def reversal_lesson(
    *,
    source: str = "I am going to read another chapter",
    target: str = "je vais lire un autre chapitre",
    links: tuple[int, ...] = (1, 3, 5, 6, 6, 7),
) -> LessonResult:
    """A source read backwards: the nearest pair comes closer, the mean does not."""
    words = source.split()
    count = len(words)
    numbers = torch.arange(count, dtype=torch.float64)[None, :, None]
    order = [int(each) for each in reverse(numbers, torch.tensor([count]))[0, :, 0]]
    turned = " ".join(words[each] for each in order)
    plain = [count - link + t for t, link in enumerate(links, 1)]
    back = [link - 1 + t for t, link in enumerate(links, 1)]
    rows = [("target", "source", "steps apart", "reversed")]
    for word, link, before, after in zip(target.split(), links, plain, back, strict=False):
        rows.append((word, words[link - 1], str(before), str(after)))
    means = sum(plain) / len(plain), sum(back) / len(back)
    return LessonResult(
        (
            ComparedNumber("reversed", "chapter another read to going am I", turned),
            ComparedNumber("smallest distance, plain", None, min(plain)),
            ComparedNumber("smallest distance, reversed", 1, min(back), by_hand=True),
            ComparedNumber("mean distance, plain", None, means[0]),
            ComparedNumber("mean distance falls", "yes", "no" if means[1] >= means[0] else "yes",
                           care=CARE),
            ComparedNumber("mean distance, reversed", None, means[1]),
        ),
        text_table(rows, right=(2, 3)),
    )  # fmt: skip
