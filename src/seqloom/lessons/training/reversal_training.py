"""Whether a plain encoder–decoder learns sooner from a reversed source."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import learn, share_correct, strings

__all__ = ["reversal_training_lesson"]


@lesson(
    "reversal-training", "Attention Models: reversing the input, results", chapter="training",
    trains=True,
)  # fmt: skip
def reversal_training_lesson(*, updates: int = 300, tested: int = 100) -> LessonResult:
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
        outputs = learn(pairs, [source for source, _ in test], options)
        shares[backwards] = share_correct(outputs, test)
    rows = [("source", f"correct after {updates} updates")]
    rows += [("reversed" if back else "plain", f"{share:.0%}") for back, share in shares.items()]
    return LessonResult(
        (
            ComparedNumber("does reversing help", "yes",
                           "yes" if shares[True] > shares[False] else "no"),
        ),
        text_table(rows, right=(1,)),
    )  # fmt: skip
