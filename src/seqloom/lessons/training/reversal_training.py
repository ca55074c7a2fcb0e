"""Whether a plain encoder–decoder learns faster from a reversed source."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn_seeds, share_correct, share_words, strings

__all__ = ["reversal_training_lesson"]


@lesson(
    "reversal-training", "Attention Models: reversing the input, results", chapter="training",
    trains=True,
)  # fmt: skip
def reversal_training_lesson(
    *, updates: int = 300, tested: int = 100, seeds: int = 3
) -> LessonResult:
    """A fixed code learns to copy a string sooner if it reads the string backwards."""
    pairs = [(text, text.upper()) for text, _ in strings(4_000, shortest=3, longest=8)]
    test = [(text, text.upper()) for text, _ in strings(tested, shortest=3, longest=8, seed=2)]
    shares = {}
    for backwards in (False, True):
        options = {
            "model": {
                "reverse_source": backwards,
                "encoder": {"direction": "forward"},
                "decoder": {"attention": {"kind": "none"}},
            },
            "training": {"updates": updates},
        }
        shares[backwards] = [share_correct(outputs, test)
                             for outputs in learn_seeds(pairs, test, options, seeds)]  # fmt: skip
    rows = [("source", f"correct after {updates} updates, {seeds} seeds")]
    rows += [("reversed" if back else "plain", share_words(each)) for back, each in shares.items()]
    better = sum(one > other for one, other in zip(shares[True], shares[False], strict=True))
    return LessonResult(
        (
            ComparedNumber("does reversing help", "yes",
                           "yes" if sum(shares[True]) > sum(shares[False]) else "no"),
            ComparedNumber("in how many of the seeds", None, better),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip
