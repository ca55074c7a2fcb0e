"""A conformance suite for attention (S4).

`check_attention` takes any attention, whatever its score, heads and focus, and proves the laws that
decoders rest on, in float64 to 1e-9, then in float32 to 1e-4. Each law is a function of its own
below.
"""

from copy import deepcopy
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from seqloom.errors import DataError
from seqloom.nn.attention import Attention, PredictedFocus, TimeFocus

__all__ = ["check_attention"]

EXACT = 1e-9  # of float64
CLOSE = 1e-4  # of float32

Found = tuple[Tensor, Tensor]
"""Contexts and weights."""


@dataclass(frozen=True)
class Subject:
    """An attention, the sources it looks at, and where its queries are drawn from."""

    attention: Attention
    states: Tensor  # (B, S, E)
    lengths: Tensor  # (B,)
    query: int
    random: torch.Generator

    @property
    def mask(self) -> Tensor:
        return torch.arange(self.states.shape[1]) < self.lengths[:, None]

    @property
    def rows(self) -> int:
        return len(self.lengths)

    def draw(self, *shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=self.random)

    def steps(self, rows: int) -> Tensor:
        """Steps made before: some rows are at their first, some past the end of the source."""
        return torch.randint(0, self.states.shape[1] + 2, (rows,), generator=self.random)

    def ask(self, queries: Tensor, positions: Tensor) -> Found:
        prepared = self.attention.prepare(self.states, self.mask)
        found: Found = self.attention(queries, prepared, positions)
        return found

    def of(self, sentences: Tensor) -> "Subject":
        return replace(self, states=self.states[sentences], lengths=self.lengths[sentences])


def check_attention(
    attention: Attention, states: Tensor, lengths: Tensor, *, query: int, seed: int
) -> None:
    """Prove every law for this attention in float64, with these states padded past each length."""
    random = torch.Generator().manual_seed(seed)
    subject = Subject(attention, states, lengths, query, random)
    with torch.no_grad():
        check_weights_are_a_distribution(subject)
        check_contexts_are_weighted_sums(subject)
        check_neighbours_change_nothing(subject)
        check_rows_are_independent(subject)
        check_steps_add_up(subject)
        check_order_of_the_source_is_no_matter(subject)
        check_single_precision(subject)
        check_saved_and_loaded(subject)
        check_nothing_to_see_is_refused(subject)
    check_gradients(subject)


def check_weights_are_a_distribution(subject: Subject) -> None:
    """Rows sum to 1 over what may be seen; padding, the future and what lies outside the window
    have weight exactly 0 (S4, S4.3, S4.4)."""
    queries, positions = subject.draw(subject.rows, 4, subject.query), subject.steps(subject.rows)
    _, weights = subject.ask(queries, positions)
    visible = visible_positions(subject, queries, positions)
    assert bool((weights[~visible] == 0).all())
    assert bool((weights[visible] > 0).all())
    assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


def check_contexts_are_weighted_sums(subject: Subject) -> None:
    """Every head sums the same values, so the mean of the heads' contexts is that of the mean
    weights (S4.5)."""
    queries, positions = subject.draw(subject.rows, 3, subject.query), subject.steps(subject.rows)
    context, weights = subject.ask(queries, positions)
    heads = context.unflatten(-1, (subject.attention.context_factor, -1))
    assert_close(heads.mean(2), weights @ subject.states)


def check_neighbours_change_nothing(subject: Subject) -> None:
    """Batch mates, their order, padding and what stands in it leave a sentence's result alone."""
    queries, positions = subject.draw(subject.rows, 4, subject.query), subject.steps(subject.rows)
    context, weights = subject.ask(queries, positions)
    order = torch.randperm(subject.rows, generator=subject.random)
    found = subject.of(order).ask(queries[order], positions[order])
    assert_same(found, (context[order], weights[order]))
    wider = functional.pad(subject.states, (0, 0, 0, 3))
    real = torch.arange(wider.shape[1]) < subject.lengths[:, None]
    repadded = replace(subject, states=wider.where(real[:, :, None], 1e100))
    found = repadded.ask(queries, positions)
    assert_same(found, (context, functional.pad(weights, (0, 3))))
    for number, length in enumerate(subject.lengths.tolist()):
        mine = slice(number, number + 1)
        alone = replace(
            subject, states=subject.states[mine, :length], lengths=subject.lengths[mine]
        )
        found = alone.ask(queries[mine], positions[mine])
        assert_same(found, (context[mine], weights[mine, :, :length]))


def check_rows_are_independent(subject: Subject) -> None:
    """K paths of a sentence that share its keys find what each would find alone (S7.3)."""
    paths = 3
    rows = paths * subject.rows
    queries, positions = subject.draw(rows, 2, subject.query), subject.steps(rows)
    context, weights = subject.ask(queries, positions)
    for path in range(paths):
        mine = slice(path, None, paths)
        found = subject.ask(queries[mine], positions[mine])
        assert_same(found, (context[mine], weights[mine]))


def check_steps_add_up(subject: Subject) -> None:
    """Many queries at once equal one at a time with the positions moved on (S5.7)."""
    rows, count = 2 * subject.rows, 5
    queries, positions = subject.draw(rows, count, subject.query), subject.steps(rows)
    whole = subject.ask(queries, positions)
    steps = [subject.ask(queries[:, t : t + 1], positions + t) for t in range(count)]
    contexts, weights = zip(*steps, strict=True)
    assert_same((torch.cat(contexts, dim=1), torch.cat(weights, dim=1)), whole)


def check_order_of_the_source_is_no_matter(subject: Subject) -> None:
    """Permuting the source permutes the weights and leaves the contexts, unless positions count
    because attention is local or causal."""
    if subject.attention.causal or subject.attention.focus is not None:
        return
    queries, positions = subject.draw(subject.rows, 3, subject.query), subject.steps(subject.rows)
    context, weights = subject.ask(queries, positions)
    for number, length in enumerate(subject.lengths.tolist()):
        order = torch.randperm(length, generator=subject.random)
        mine = slice(number, number + 1)
        turned = replace(subject, states=subject.states[mine, order], lengths=subject.lengths[mine])
        found = turned.ask(queries[mine], positions[mine])
        assert_same(found, (context[mine], weights[mine][:, :, order]))


def check_single_precision(subject: Subject) -> None:
    """In float32 contexts and weights are right to 1e-4."""
    single = replace(
        subject, attention=deepcopy(subject.attention).float(), states=subject.states.float()
    )
    queries, positions = subject.draw(subject.rows, 4, subject.query), subject.steps(subject.rows)
    exact = subject.ask(queries, positions)
    assert_same(single.ask(queries.float(), positions), exact, CLOSE)


def check_saved_and_loaded(subject: Subject) -> None:
    """Another attention of the same kind becomes this one by its saved weights alone."""
    other = deepcopy(subject.attention)
    for parameter in other.parameters():
        parameter.normal_(generator=subject.random)
    other.load_state_dict(subject.attention.state_dict())
    queries, positions = subject.draw(subject.rows, 2, subject.query), subject.steps(subject.rows)
    loaded = replace(subject, attention=other)
    for one, another in zip(
        loaded.ask(queries, positions), subject.ask(queries, positions), strict=True
    ):
        assert torch.equal(one, another)


def check_nothing_to_see_is_refused(subject: Subject) -> None:
    """A sentence that is all padding is an error and never NaN (RELIABILITY C4)."""
    mask = subject.mask
    mask[-1] = False
    with pytest.raises(DataError, match="without a single real position"):
        subject.attention.prepare(subject.states, mask)


def check_gradients(subject: Subject) -> None:
    """Of queries, states and every weight they are the numerical ones (RELIABILITY C4)."""
    positions, mask = subject.steps(2 * subject.rows), subject.mask
    whole = Whole(subject.attention, mask, positions)
    names = [name for name, _ in whole.named_parameters()]

    def context(queries: Tensor, states: Tensor, *weights: Tensor) -> Tensor:
        named = dict(zip(names, weights, strict=True))
        found: Tensor = torch.func.functional_call(whole, named, (queries, states))
        return found

    queries = subject.draw(2 * subject.rows, 2, subject.query).requires_grad_()
    states = subject.states.clone().requires_grad_()
    inputs = (queries, states, *whole.parameters())
    assert torch.autograd.gradcheck(context, inputs, fast_mode=True)


class Whole(nn.Module):
    """Keys and context as one function of queries and states."""

    def __init__(self, attention: Attention, mask: Tensor, positions: Tensor) -> None:
        super().__init__()
        self.attention = attention
        self.mask = mask
        self.positions = positions

    def forward(self, queries: Tensor, states: Tensor) -> Tensor:
        prepared = self.attention.prepare(states, self.mask)
        context: Tensor = self.attention(queries, prepared, self.positions)[0]
        return context


def visible_positions(subject: Subject, queries: Tensor, positions: Tensor) -> Tensor:
    """Which source positions each query may look at, from the definitions, one by one."""
    visible = torch.zeros(*queries.shape[:2], subject.states.shape[1], dtype=torch.bool)
    paths = len(queries) // subject.rows
    for row, step, position in torch.ones_like(visible).nonzero().tolist():
        at, end = int(positions[row]) + step, int(subject.lengths[row // paths]) - 1
        last = min(at, end) if subject.attention.causal else end
        near = position <= last
        if subject.attention.focus is not None:
            middle = centre(subject.attention, queries[row, step], at=at, last=last)
            near = near and abs(position - middle) <= window(subject.attention)
        visible[row, step, position] = near
    return visible


def centre(attention: Attention, query: Tensor, *, at: int, last: int) -> float:
    """The middle of the window (S4.3)."""
    match attention.focus:
        case PredictedFocus() as focus:
            inner = (focus.map.weight @ query).tanh()
            return last * float((focus.weigh.weight[0] @ inner).sigmoid())
        case TimeFocus():
            return min(at, last)
        case focus:
            raise TypeError(f"the middle of a {type(focus).__name__} is not known here")


def window(attention: Attention) -> int:
    assert isinstance(attention.focus, TimeFocus | PredictedFocus)
    return attention.focus.window


def assert_same(actual: Found, expected: Found, tolerance: float = EXACT) -> None:
    for one, other in zip(actual, expected, strict=True):
        assert_close(one, other, tolerance)


def assert_close(actual: Tensor, expected: Tensor, tolerance: float = EXACT) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance, check_dtype=False)
