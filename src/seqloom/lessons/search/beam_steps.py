"""Beam search step by step: kept and pruned hypotheses."""

import math

from seqloom.demos.homophones import HOMOPHONES, find
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.search import PLAIN, Beam

__all__ = ["beam_steps_lesson"]

CARE = "the third step repeats P(O_2 | …); it is P(O_3 | O_1, O_2, I)"
EXTENDED = "paths that end in <eos> are extended in the pseudocode; a finished path stays as it is"


@lesson(
    "beam-steps", "Attention Models: multiple choices and pruning",
    "Attention Models: pseudocode of beam search", "Attention Models: termination",
    chapter="search",
)  # fmt: skip
def beam_steps_lesson(*, beam: int = 2) -> LessonResult:
    """Keep the K best after each step, stop when the best of all has ended."""
    paths: list[tuple[tuple[str, ...], float]] = [((), 1.0)]
    rows, step = [("step", "path", "probability", "")], 0
    while not _has_end(max(paths, key=lambda each: each[1])[0]):
        step += 1
        forks = []
        for words, chance in paths:
            if _has_end(words):
                forks.append((words, chance))
                continue
            after = HOMOPHONES.get(words, {"<end>": 1.0})
            forks += [((*words, word), chance * each) for word, each in after.items()]
        forks.sort(key=lambda each: -each[1])
        for number, (words, chance) in enumerate(forks):
            fate = "kept" if number < beam else "pruned"
            rows.append((str(step), " ".join(words), f"{chance:.3f}", fate))
        paths = forks[:beam]
    best, chance = max(paths, key=lambda each: each[1])
    words, output = find(Beam(beam, PLAIN, first=True))
    return LessonResult(
        (
            ComparedNumber("probability of the best path", 0.32, chance, 1e-12, by_hand=True),
            ComparedNumber("the same by the library's search", chance, math.exp(output.score),
                           1e-12, by_hand=True),
            ComparedNumber("the same words", " ".join(best[:-1]), " ".join(words)),
            ComparedNumber("the product with P(O_2 | …) as third factor", _printed_product(best),
                           chance, 1e-12, care=CARE, by_hand=True),
            ComparedNumber("ends in a path after one more step", _ends(paths, extend=True),
                           _ends(paths, extend=False), care=EXTENDED, by_hand=True),
        ),
        text_table(rows, right=(0, 2)),
    )  # fmt: skip


def _has_end(words: tuple[str, ...]) -> bool:
    return words[-1:] == ("<end>",)


def _printed_product(words: tuple[str, ...]) -> float:
    """P(O_1) P(O_2 | O_1) P(O_2 | O_1), as the third step is printed."""
    first, second = HOMOPHONES[()][words[0]], HOMOPHONES[words[:1]][words[1]]
    return first * second * second


def _ends(paths: list[tuple[tuple[str, ...], float]], *, extend: bool) -> int:
    """How often the best path contains <end> after a step that may extend finished paths."""
    best = max(paths, key=lambda each: each[1])[0]
    after = (*best, "<end>") if extend or not _has_end(best) else best
    return after.count("<end>")
