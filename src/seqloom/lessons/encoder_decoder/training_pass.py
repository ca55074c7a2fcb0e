"""The forward and the backward pass of one training pair."""

import torch

from seqloom.fields import END, START
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.small_models import recurrent_model
from seqloom.lessons.text_table import text_table
from seqloom.model import Source
from seqloom.training import Example, measure

__all__ = ["training_pass_lesson"]

SOURCE = "I ate an apple <eos>"
TARGET = "Ich habe einen apfel gegessen <eos>"


@lesson(
    "training-pass", "Attention Models: training, forward pass",
    "Attention Models: training, backward pass", chapter="encoder-decoder",
)  # fmt: skip
def training_pass_lesson(*, form: str = "b") -> LessonResult:
    """Both X and D enter; every step has its divergence, and each reaches the encoder."""
    source, target = SOURCE.split(), TARGET.split()
    model = recurrent_model(form, words=14)
    read = torch.tensor([[*range(4, 3 + len(source)), END]])
    wanted = torch.tensor([[*range(8, 7 + len(target)), END]])
    given = Source(read, torch.tensor([len(source)]))
    memory = model.encoder.encode(given)
    inputs = torch.cat([torch.tensor([[START]]), wanted[:, :-1]], dim=1)
    features, _ = model.decoder.read(inputs, model.decoder.start(memory))
    logs = model.decoder.write(features.hidden[0]).log_softmax(-1)
    costs = -logs.gather(1, wanted[0][:, None])[:, 0]
    weight = next(iter(model.encoder.parameters()))
    reached = [torch.autograd.grad(cost, weight, retain_graph=True)[0].norm() for cost in costs]
    costs = costs.detach()
    rows = [("t", "reads", "D", "divergence", "size of its gradient in the encoder")]
    for t, word in enumerate(target):
        read_word = "<sos>" if t == 0 else target[t - 1]
        rows.append((str(t), read_word, word, f"{float(costs[t]):.4f}", f"{float(reached[t]):.4f}"))
    whole = measure(model, Example(given, wanted), smoothing=0.0).loss
    return LessonResult(
        (
            ComparedNumber("words in and out", (5, 6), (read.shape[1], len(costs)), by_hand=True),
            ComparedNumber("sum of the divergences, as training has it", whole,
                           float(costs.sum()), 1e-9, by_hand=True),
            ComparedNumber("steps whose cost reaches the encoder", len(target),
                           sum(bool(each > 0) for each in reached), by_hand=True),
        ),
        text_table(rows, right=(0, 3, 4)),
    )  # fmt: skip
