"""Whether the generated word changes the next distribution."""

import torch

from seqloom.fields import END, START
from seqloom.lessons.draws import largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import Source

__all__ = ["output_feedback_lesson"]

A, AN = 4, 5
SOURCE = Source(torch.tensor([[6, 7, 8, END]]), torch.tensor([4]))


@lesson(
    "output-feedback", "Attention Models: a / an, no feedback",
    chapter="encoder-decoder",
)  # fmt: skip
def output_feedback_lesson() -> LessonResult:
    """After “a” and after “an” the next distribution is the same unless the output is fed back."""
    rows: list[tuple[str, ...]] = [("form", "after “a”", "after “an”")]
    changes = {}
    for form in ("a", "b"):
        after = [_next(form, word) for word in (A, AN)]
        changes[form] = largest_difference(*after)
        rows.append((f"({form})", *(f"{float(each[6]):.4f}" for each in after)))
    return LessonResult(
        (
            ComparedNumber("change in (a), state only", 0, changes["a"], by_hand=True),
            ComparedNumber("does (b), with feedback, change", "yes",
                           "yes" if changes["b"] else "no"),
        ),
        "Probability of one next word, untrained weights:\n" + text_table(rows, right=(1, 2)),
    )  # fmt: skip


@torch.no_grad()
def _next(form: str, word: int) -> torch.Tensor:
    model = recurrent_model(form)
    state = model.decoder.start(model.encoder.encode(SOURCE))
    features, _ = model.decoder.read(torch.tensor([[START, word]]), state)
    return model.decoder.write(features.hidden[0, -1]).softmax(-1)
