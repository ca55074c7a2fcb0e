"""Why greedy search fails, on a model small enough to read."""

import math

from seqloom.demos.homophones import HOMOPHONES, find
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.search import PLAIN, Beam, Exact, Greedy, Search

__all__ = ["greedy_failure_lesson"]


@lesson(
    "greedy-failure", "Attention Models: greedy drawing", "Attention Models: greedy is not good",
    chapter="search",
)  # fmt: skip
def greedy_failure_lesson(*, beam: int = 2) -> LessonResult:
    """The likeliest word leads to a poorer sentence: greedy .10, a beam of two .32."""
    searches: dict[str, Search] = {
        "greedy": Greedy(),
        f"beam of {beam}": Beam(beam, PLAIN),
        "exact": Exact(),
    }
    rows, scores, sentences = [], [], []
    for name, search in searches.items():
        words, output = find(search)
        sentences.append(" ".join(words))
        scores.append(math.exp(output.score))
        factors = " · ".join(f"{math.exp(each):.2f}" for each in output.token_scores)
        rows.append((name, sentences[-1], f"{factors} = {scores[-1]:.2f}"))
    after = HOMOPHONES["he",]
    return LessonResult(
        (
            ComparedNumber("nose after “he”", 0.5, after["nose"], by_hand=True),
            ComparedNumber("knows after “he”", 0.4, after["knows"], by_hand=True),
            ComparedNumber("greedy finds", 0.10, scores[0], 1e-12, by_hand=True),
            ComparedNumber("a beam finds", 0.32, scores[1], 1e-12, by_hand=True),
            ComparedNumber("the most likely of all", 0.32, scores[2], 1e-12, by_hand=True),
            ComparedNumber("second word of the best", "knows", sentences[2].split()[1]),
        ),
        text_table(rows),
    )
