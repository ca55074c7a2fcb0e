"""Quality by length, with a fixed code and with attention."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn_seeds, share_correct, share_words, strings

__all__ = ["attention_by_length_lesson"]

LENGTHS = ((3, 4), (5, 6), (7, 8))


@lesson(
    "attention-by-length", "Attention Models: one vector is overloaded",
    "Attention Models: attention mends long outputs", chapter="attention",
    trains=True,
)  # fmt: skip
def attention_by_length_lesson(
    *, updates: int = 400, tested: int = 60, seeds: int = 1
) -> LessonResult:
    """A fixed code fails on long strings first; attention does not."""
    pairs = strings(4_000, shortest=3, longest=8)
    tests = [strings(tested, shortest=size[0], longest=size[1], seed=size[0]) for size in LENGTHS]
    whole = [pair for test in tests for pair in test]
    shares: dict[str, list[list[float]]] = {}  # of each length, for each seed
    for kind in ("none", "global"):
        options = {
            "model": {"decoder": {"attention": {"kind": kind}}},
            "training": {"updates": updates},
        }
        found = learn_seeds(pairs, whole, options, seeds)
        shares[kind] = [[share_correct(outputs[place * tested : (place + 1) * tested], test)
                         for outputs in found] for place, test in enumerate(tests)]  # fmt: skip
    rows = [("length", "fixed code", "attention")]
    for (low, high), fixed, looked in zip(LENGTHS, *shares.values(), strict=True):
        rows.append((f"{low} to {high}", share_words(fixed), share_words(looked)))
    none, attention = ([sum(each) / seeds for each in shares[kind]] for kind in shares)
    several = f"; {seeds} seeds" * (seeds > 1)
    shown = f"strings written backwards, right to the letter{several}\n"
    return LessonResult(
        (
            ComparedNumber("does the fixed code fall with length", "yes",
                           "yes" if none[-1] < none[0] else "no"),
            ComparedNumber("does it fall further than attention", "yes",
                           "yes" if none[0] - none[-1] > attention[0] - attention[-1] else "no"),
            ComparedNumber("is attention better on the longest", "yes",
                           "yes" if attention[-1] > none[-1] else "no"),
        ),
        shown + text_table(rows, right=(1, 2)),
    )  # fmt: skip
