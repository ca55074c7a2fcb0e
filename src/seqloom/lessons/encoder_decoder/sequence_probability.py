"""The probability of a sentence as a product."""

import math

import torch

from seqloom.fields import END, START
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import Source

__all__ = ["sequence_probability_lesson"]

CARE = "every factor has the subscript 1 in the text; factor t belongs to step t"


@lesson(
    "sequence-probability", "Attention Models: the probability of the output",
    chapter="encoder-decoder",
)  # fmt: skip
@torch.no_grad()
def sequence_probability_lesson(*, words: tuple[int, ...] = (4, 6, 5)) -> LessonResult:
    """P(O_1 … O_L | I) is the product of each step's probability of its own word."""
    model = recurrent_model("b")
    memory = model.encoder.encode(Source(torch.tensor([[6, 7, END]]), torch.tensor([3])))
    output = (*words, END)
    inputs = torch.tensor([[START, *words]])
    features, _ = model.decoder.read(inputs, model.decoder.start(memory))
    logs = model.decoder.write(features.hidden[0]).log_softmax(-1)
    at_once = [float(logs[t, word]) for t, word in enumerate(output)]
    state, by_steps = model.decoder.start(memory), []
    for token, word in zip(inputs[0], output, strict=True):
        features, state = model.decoder.read(token[None, None], state)
        chances = model.decoder.write(features.hidden[0, -1]).log_softmax(-1)
        by_steps.append(float(chances[word]))
    first = math.prod(math.exp(float(logs[0, word])) for word in output)
    rows = [("t", "word", "y_t of it")]
    rows += [(str(t), str(word), f"{math.exp(log):.4f}") for t, (word, log) in
             enumerate(zip(output, at_once, strict=True), 1)]  # fmt: skip
    whole = math.exp(sum(at_once))
    return LessonResult(
        (
            ComparedNumber("all steps at once against one by one", math.exp(sum(by_steps)), whole,
                           1e-12, by_hand=True),
            ComparedNumber("with y_1 in every factor", first, whole, care=CARE, by_hand=True),
        ),
        text_table(rows, right=(0, 1, 2)),
    )  # fmt: skip
