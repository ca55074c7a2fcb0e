"""A text of any length, read chunk by chunk (SPEC S6.2).

A chunk begins with the state that the one before left. A Transformer, whose state grows with all it
has read, begins every chunk anew.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.fields import EMPTY, END, START
from seqloom.model import Memory, SequenceModel, Source, carries
from seqloom.model.state import each_tensor
from seqloom.training.loss import Cost, Example, Sums
from seqloom.training.truncated_bptt import Carried, backward_truncated

__all__ = [
    "backward_stream",
    "begun",
    "made_of",
    "measure_stream",
    "parts",
    "selected",
    "sourceless",
]

AT_ONCE = 1_024  # positions whose distributions are held


def begun(model: SequenceModel, lanes: int) -> Carried:
    """Nothing is read yet."""
    device = next(model.parameters()).device
    token = torch.full((lanes,), START, dtype=torch.int64, device=device)
    return Carried(model.decoder.start(Memory(lanes)), token)


def parts(carried: Carried) -> list[Tensor]:
    """All that is carried, a row for each lane."""
    found: list[Tensor] = []
    each_tensor(found.append, carried.state.own)
    return [*found, carried.token]


def made_of(tensors: Iterable[Tensor], like: Carried) -> Carried:
    """What `parts` gave, put together again."""
    rest = iter(tensors)
    own = each_tensor(lambda _: next(rest), like.state.own)
    return Carried(replace(like.state, own=own), next(rest))


def selected(carried: Carried, rows: Int[Tensor, "B2"]) -> Carried:
    """Where these lanes stand."""
    return Carried(carried.state.select(rows), carried.token[rows])


def backward_stream(
    model: SequenceModel, example: Example, cost: Cost, *, steps: int, first: Carried | None
) -> tuple[Sums, Carried]:
    """As `backward_truncated`, of a text that goes on from `first`, if the model can."""
    if carries(model.decoder):
        return backward_truncated(model, example, cost, steps=steps, first=first)
    totals = Sums(0.0, 0.0, 0)
    for chunk in example.target.split(steps, dim=1):
        sums, _ = backward_truncated(model, sourceless(chunk), cost, steps=steps)
        totals = totals.plus(sums)
    return totals, begun(model, len(example.target))


@torch.no_grad()
def measure_stream(model: SequenceModel, chunks: Iterable[Int[Tensor, "B _"]]) -> float:
    """The loss per token of a text that comes in chunks of its lanes."""
    negative, tokens, first = 0.0, 0, None
    for chunk in chunks:
        state, token = first or begun(model, len(chunk))
        inputs = torch.cat([token[:, None], chunk[:, :-1]], dim=1)
        features, state = model.decoder.read(inputs, state)
        real = chunk.ne(EMPTY)
        hidden, labels = features.hidden[real], chunk[real]
        for some, wanted in zip(hidden.split(AT_ONCE), labels.split(AT_ONCE), strict=True):
            likely = model.decoder.write(some).log_softmax(-1)
            negative -= float(likely.gather(1, wanted[:, None]).sum())
        tokens += len(labels)
        first = Carried(state, chunk[:, -1]) if carries(model.decoder) else None
    return negative / tokens


def sourceless(chunk: Int[Tensor, "B T"]) -> Example:
    """These tokens of a text without a source."""
    nothing = torch.full_like(chunk[:, :1], END)
    return Example(Source(nothing, torch.ones_like(nothing[:, 0])), chunk)
