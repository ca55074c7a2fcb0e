"""Language model training on a stream of text, chunk by chunk (S6.2).

A chunk starts from the state of the one before. A Transformer, whose cache would grow with the
text, starts every chunk from an empty one.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.fields import EMPTY, END, START
from seqloom.model import Memory, SequenceModel, Source
from seqloom.model.state import tree_map
from seqloom.training.loss import Example, LossOptions, Sums
from seqloom.training.truncated_bptt import StreamState, backward_truncated

__all__ = [
    "backward_stream",
    "measure_stream",
    "select_rows",
    "start_stream",
    "stream_from_tensors",
    "stream_tensors",
    "without_source",
]

AT_ONCE = 1_024  # positions whose logits are held at once


def start_stream(model: SequenceModel, lanes: int) -> StreamState:
    """The initial state of so many parallel lanes."""
    device = next(model.parameters()).device
    token = torch.full((lanes,), START, dtype=torch.int64, device=device)
    return StreamState(model.decoder.start(Memory(lanes)), token)


def stream_tensors(carried: StreamState) -> list[Tensor]:
    """A stream's state as tensors, with a row for each lane."""
    found: list[Tensor] = []
    tree_map(found.append, carried.state.own)
    return [*found, carried.token]


def stream_from_tensors(tensors: Iterable[Tensor], like: StreamState) -> StreamState:
    """The inverse of `stream_tensors`."""
    rest = iter(tensors)
    own = tree_map(lambda _: next(rest), like.state.own)
    return StreamState(replace(like.state, own=own), next(rest))


def select_rows(carried: StreamState, rows: Int[Tensor, "B2"]) -> StreamState:
    """The state of some lanes."""
    return StreamState(carried.state.select(rows), carried.token[rows])


def backward_stream(
    model: SequenceModel,
    example: Example,
    cost: LossOptions,
    *,
    steps: int,
    first: StreamState | None,
) -> tuple[Sums, StreamState]:
    """As `backward_truncated`, for a text that continues from the state `first` if the decoder
    carries one.
    """
    if model.decoder.carries_state:
        return backward_truncated(model, example, cost, steps=steps, first=first)
    totals = Sums(0.0, 0.0, 0)
    for chunk in example.target.split(steps, dim=1):
        sums, _ = backward_truncated(model, without_source(chunk), cost, steps=steps)
        totals = totals.plus(sums)
    return totals, start_stream(model, len(example.target))


@torch.no_grad()
def measure_stream(model: SequenceModel, chunks: Iterable[Int[Tensor, "B _"]]) -> float:
    """The loss per token of a text, given as chunks of its lanes."""
    negative, tokens, first = 0.0, 0, None
    for chunk in chunks:
        state, token = first or start_stream(model, len(chunk))
        inputs = torch.cat([token[:, None], chunk[:, :-1]], dim=1)
        features, state = model.decoder.read(inputs, state)
        real = chunk.ne(EMPTY)
        hidden, labels = features.hidden[real], chunk[real]
        for some, wanted in zip(hidden.split(AT_ONCE), labels.split(AT_ONCE), strict=True):
            likely = model.decoder.write(some).log_softmax(-1)
            negative -= float(likely.gather(1, wanted[:, None]).sum())
        tokens += len(labels)
        first = StreamState(state, chunk[:, -1]) if model.decoder.carries_state else None
    return negative / tokens


def without_source(chunk: Int[Tensor, "B T"]) -> Example:
    """An example of target tokens without a source."""
    nothing = torch.full_like(chunk[:, :1], END)
    return Example(Source(nothing, torch.ones_like(nothing[:, 0])), chunk)
