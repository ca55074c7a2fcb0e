"""The share of teacher forcing in training, and its effect."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn_seeds, share_correct, share_words, strings

__all__ = ["teacher_forcing_lesson"]

KINDS = ("always", "linear", "never")


@lesson(
    "teacher-forcing", "Chapter 7: teacher forcing", "NLP 7: teacher forcing with probability p",
    "Attention Models: tricks of the trade", chapter="training", trains=True,
)  # fmt: skip
def teacher_forcing_lesson(
    *, updates: int = 100, tested: int = 100, seeds: int = 3
) -> LessonResult:
    """The label, the model's own output, or first one and then the other as the next input."""
    pairs = strings(3_000, shortest=3, longest=6)
    test = strings(tested, shortest=3, longest=6, seed=2)
    shares = {}
    for kind in KINDS:
        options = {"training": {"updates": updates, "forcing": {"kind": kind}}}
        shares[kind] = [share_correct(outputs, test)
                        for outputs in learn_seeds(pairs, test, options, seeds)]  # fmt: skip
    rows = [("label is read", f"correct after {updates} updates, {seeds} seeds")]
    rows += [(kind, share_words(each)) for kind, each in shares.items()]
    faster = sum(one > other for one, other in zip(shares["always"], shares["never"], strict=True))
    return LessonResult(
        (
            ComparedNumber("does it learn faster than without", "yes",
                           "yes" if sum(shares["always"]) > sum(shares["never"]) else "no"),
            ComparedNumber("in how many of the seeds", None, faster),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip
