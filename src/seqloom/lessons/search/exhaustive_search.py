"""A beam of width one is greedy search; a beam of all paths is exhaustive."""

import math
from itertools import product

from seqloom.demos.homophones import HOMOPHONES, find
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.search import PLAIN, Beam, Exhaustive, Greedy, Search

__all__ = ["exhaustive_search_lesson"]


@lesson("exhaustive-search", "Attention Models: all paths, V^T branches", chapter="search")
def exhaustive_search_lesson(*, words: int = 10, steps: int = 3) -> LessonResult:
    """K = 1 is greedy search, K = V^T is exhaustive; between them it is cheap and good."""
    rows, found = [("search", "output", "probability")], {}
    searches: dict[str, Search] = {"greedy": Greedy(), "exhaustive": Exhaustive()}
    widths = {f"beam of {width}": Beam(width, PLAIN, first=True) for width in (1, 2, 3, 50)}
    for name, search in {**searches, **widths}.items():
        output, best = find(search)
        found[name] = output, math.exp(best.score)
        rows.append((name, " ".join(output), f"{found[name][1]:.2f}"))
    branches = sum(1 for _ in product(range(words), repeat=steps))
    paths = sum(1 for path in HOMOPHONES.values() for _ in path)
    return LessonResult(
        (
            ComparedNumber("branches of 10 words and 3 steps", 1_000, branches, by_hand=True),
            ComparedNumber("is a beam of 1 greedy", "yes",
                           "yes" if found["beam of 1"] == found["greedy"] else "no"),
            ComparedNumber("is a wide beam exhaustive", "yes",
                           "yes" if found["beam of 50"][0] == found["exhaustive"][0] else "no"),
            ComparedNumber("forks that the small model has in all", None, paths),
        ),
        text_table(rows, right=(2,)),
    )  # fmt: skip
