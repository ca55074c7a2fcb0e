"""Steps in parallel under teacher forcing, and sequentially in generation."""

import torch

from seqloom.fields import END, START
from seqloom.lessons.draws import largest_difference
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import transformer_model
from seqloom.model import Source

__all__ = ["parallel_steps_lesson"]

CARE = "(7.34) has no input at t = 1; the decoder reads <start> there"


@lesson(
    "parallel-steps", "Chapter 7: Figure 7.17, (7.34)", "Chapter 7: Figure 7.15 (b), (7.33)",
    chapter="transformer",
)  # fmt: skip
@torch.no_grad()
def parallel_steps_lesson(*, output: tuple[int, ...] = (4, 5, 6, 7)) -> LessonResult:
    """A decoder's distributions are the same, computed at once or word after word."""
    model = transformer_model()
    memory = model.encoder.encode(Source(torch.tensor([[4, 8, 6, END]]), torch.tensor([4])))
    inputs = torch.tensor([[START, *output]])
    at_once, _ = model.decoder.read(inputs, model.decoder.start(memory))
    state, steps = model.decoder.start(memory), []
    for token in inputs[0]:
        features, state = model.decoder.read(token[None, None], state)
        steps.append(features.hidden)
    changed = inputs.clone()
    changed[0, -1] = 8
    later, _ = model.decoder.read(changed, model.decoder.start(memory))
    started = inputs.clone()
    started[0, 0] = 8
    other, _ = model.decoder.read(started, model.decoder.start(memory))
    return LessonResult(
        (
            ComparedNumber("parallel against sequential", 0,
                           largest_difference(at_once.hidden, torch.cat(steps, dim=1)),
                           by_hand=True),
            ComparedNumber("effect of a later word on earlier steps", 0,
                           largest_difference(at_once.hidden[:, :-1], later.hidden[:, :-1]),
                           by_hand=True),
            ComparedNumber("effect of <start> on the output at t = 1", 0,
                           largest_difference(at_once.hidden[:, 0], other.hidden[:, 0]), care=CARE),
        ),
    )  # fmt: skip
