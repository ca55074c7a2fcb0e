"""Token mixing in Transformer blocks: self-attention and its alternatives (S5.1, S5.2, S5.7)."""

import math
import sys
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.modules import is_traced
from seqloom.nn.positions import Rotary
from seqloom.nn.scaled_attention import scaled_attention
from seqloom.nn.units import Unit

__all__ = [
    "Cache",
    "HeadSizes",
    "Mixing",
    "NextSteps",
    "Recurrence",
    "SelfAttention",
    "SimpleAttention",
    "next_steps",
]

Cache = tuple[Tensor, ...]
"""The cache of a layer: keys and values, or a state; each tensor has R rows (S5.7)."""


class NextSteps(NamedTuple):
    """The positions of the next steps, the same for every block."""

    at: Int[Tensor, "#R T"]  # position of each step; one row, if it is the same for all
    first: int | None  # number of steps read before, if equal for all rows
    end: int  # greatest number of steps after this read
    mask: Bool[Tensor, "#R 1 T C"] | None  # attention mask, if neither full nor causal
    last: Int[Tensor, "R"] | None = None  # the last step of each row that is not padding


def next_steps(
    positions: Int[Tensor, "R"], count: int, *, lengths: Int[Tensor, "R"] | None = None
) -> NextSteps:
    """The next `count` steps of rows that have read `read` steps; `lengths` of them are real."""
    if is_traced():
        return _steps_for_tracing(positions, count, prefix=lengths is not None)
    read = positions.tolist()
    first, end = min(read), max(read) + count
    even = first + count == end
    counted = torch.arange(end, device=positions.device)
    at = counted[first:][None] if even else positions[:, None] + counted[:count]
    plain = even and (first == 0 or count == 1)
    seen = None if plain else counted <= at[:, None, :, None]
    last = None if lengths is None else lengths - 1
    return NextSteps(at, first if even else None, end, seen, last)


def _steps_for_tracing(positions: Int[Tensor, "R"], count: int, *, prefix: bool) -> NextSteps:
    """The first steps, or one further step of rows of equal length, in a form that can be
    traced.
    """
    at = positions[:, None] + torch.arange(count, device=positions.device)
    return NextSteps(at, 0 if prefix else None, sys.maxsize, None)


@runtime_checkable
class Mixing(Protocol):
    """A sublayer that mixes information between positions."""

    @property
    def name(self) -> Literal["self-attention", "recurrence"]:
        """The name in drawings."""
        ...

    def __call__(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Process whole sequences; padding is masked."""
        ...

    def extend(
        self, inputs: Float[Tensor, "R T D"], cache: Cache, steps: NextSteps
    ) -> tuple[Float[Tensor, "R T D"], Cache]:
        """Process new positions causally, continuing from the cache."""
        ...

    def empty_cache(self, like: Float[Tensor, "R T D"]) -> Cache:
        """The cache of rows that have read nothing."""
        ...


class HeadSizes(NamedTuple):
    """The number of heads, and the sizes m of their queries and keys and m_v of their values."""

    heads: int
    key: int
    value: int


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself (S5.1, S5.5).

    Vaswani et al. 2017, Attention Is All You Need.
    """

    name: Literal["self-attention"] = "self-attention"

    def __init__(
        self, width: int, sizes: HeadSizes, *, bias: bool = False, rotary: Rotary | None = None
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.rotary = rotary
        heads, key, value = sizes
        self.project = nn.Linear(width, heads * (2 * key + value), bias=bias)
        self.combine = nn.Linear(heads * value, width, bias=bias)
        nn.init.xavier_uniform_(self.project.weight, gain=1 / math.sqrt(2))
        nn.init.xavier_uniform_(self.combine.weight)
        if bias:
            nn.init.zeros_(self.project.bias)
            nn.init.zeros_(self.combine.bias)

    def forward(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Each position attends to every real one."""
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        return self.combine(_attend(*self.queries_keys_values(inputs, at), mask))

    def extend(
        self, inputs: Float[Tensor, "R T D"], cache: Cache, steps: NextSteps
    ) -> tuple[Float[Tensor, "R T D"], Cache]:
        """Each new position attends to itself and to those before it in its row."""
        query, key, value = self.queries_keys_values(inputs, steps.at)
        keys, values = _extend_cache(cache[0], key, steps), _extend_cache(cache[1], value, steps)
        seen = keys[:, : steps.end], values[:, : steps.end]
        output = _attend(query, *seen, steps.mask, causal=steps.first == 0)
        return self.combine(output), (keys, values)

    def empty_cache(self, like: Float[Tensor, "R T D"]) -> Cache:
        heads, key, value = self.sizes
        return like.new_empty(len(like), 0, heads, key), like.new_empty(len(like), 0, heads, value)

    def queries_keys_values(
        self, inputs: Float[Tensor, "R T D"], at: Int[Tensor, "#R T"]
    ) -> tuple[Float[Tensor, "R T H E"], Float[Tensor, "R T H E"], Float[Tensor, "R T H V"]]:
        """The queries, keys and values of inputs at these positions; weights are
        softmax(q·k/√E).
        """
        query, key, value = self._split(inputs)
        if self.rotary is not None:
            query, key = _rotate(self.rotary, query, at), _rotate(self.rotary, key, at)
        return query, key, value

    def _split(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, each (R, T, H, E)."""
        heads, key, value = self.sizes
        shape, projected = inputs.shape[:2], self.project(inputs)
        if key == value:
            return projected.view(*shape, 3, heads, key).unbind(2)
        parts = projected.split((heads * key, heads * key, heads * value), dim=-1)
        return tuple(part.view(*shape, heads, -1) for part in parts)


class SimpleAttention(nn.Module):
    """Self-attention without parameters: the inputs are queries, keys and values (S5.1)."""

    name: Literal["self-attention"] = "self-attention"

    def forward(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        return _attend(*self.queries_keys_values(inputs, at), mask)

    def extend(
        self, inputs: Float[Tensor, "R T D"], cache: Cache, steps: NextSteps
    ) -> tuple[Float[Tensor, "R T D"], Cache]:
        query, key, _ = self.queries_keys_values(inputs, steps.at)
        values = _extend_cache(
            cache[0], key.clone(), steps
        )  # caches are written to, inputs are not
        seen = values[:, : steps.end]
        output = _attend(query, seen, seen, steps.mask, causal=steps.first == 0)
        return output, (values,)

    def queries_keys_values(
        self, inputs: Float[Tensor, "R T D"], at: Int[Tensor, "#R T"]
    ) -> tuple[Float[Tensor, "R T 1 D"], Float[Tensor, "R T 1 D"], Float[Tensor, "R T 1 D"]]:
        """Queries, keys and values, as one head; queries are such that q·k/√D is x·x."""
        values = inputs[:, :, None]
        return values * math.sqrt(values.shape[-1]), values, values

    def empty_cache(self, like: Float[Tensor, "R T D"]) -> Cache:
        return (like.new_empty(len(like), 0, 1, like.shape[2]),)


class Recurrence(nn.Module):
    """A recurrent unit in place of self-attention, with a state of fixed size.

    Kim et al. 2019, From Research to Production and Back (SSRU).
    """

    name: Literal["recurrence"] = "recurrence"

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.unit = unit

    def forward(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Run forward in time, so that padding at the end has no effect."""
        outputs, _ = self.unit(inputs, self.unit.zero_state(inputs))
        return outputs

    def extend(
        self, inputs: Float[Tensor, "R T D"], cache: Cache, steps: NextSteps
    ) -> tuple[Float[Tensor, "R T D"], Cache]:
        outputs, states = self.unit(inputs, cache)
        if steps.last is None:
            return outputs, tuple(part[:, -1] for part in states)
        rows = torch.arange(len(inputs), device=inputs.device)
        return outputs, tuple(part[rows, steps.last] for part in states)

    def empty_cache(self, like: Float[Tensor, "R T D"]) -> Cache:
        return self.unit.zero_state(like)


def _attend(
    query: Float[Tensor, "R T H E"],
    key: Float[Tensor, "R C H E"],
    value: Float[Tensor, "R C H V"],
    mask: Bool[Tensor, "#R 1 #T C"] | None,
    *,
    causal: bool = False,
) -> Float[Tensor, "R T D"]:
    """Softmax of q·k/√E over what is seen, times the values, head after head."""
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    output = scaled_attention(query, key, value, mask, causal=causal)
    return output.transpose(1, 2).flatten(2)


def _rotate(rotary: Rotary, values: Tensor, at: Tensor) -> Tensor:
    return rotary.rotate(values.transpose(1, 2), at).transpose(1, 2)


def _extend_cache(
    cache: Float[Tensor, "R C H E"], new: Float[Tensor, "R T H E"], steps: NextSteps
) -> Float[Tensor, "R C2 H E"]:
    """Write the new steps into the cache at their positions, in place if that is safe."""
    if steps.first == 0:
        return new
    if is_traced():
        return torch.cat([cache, new], dim=1)
    capacity = cache.shape[1]
    if capacity < steps.end:  # grow by half, so that copies stay rare
        extra = max(steps.end - capacity, capacity // 2, 8)
        cache = functional.pad(cache, (0, 0, 0, 0, 0, extra))
    elif new.requires_grad or cache.requires_grad:  # autograd needs the old values
        cache = cache.clone()
    if steps.first is not None:
        cache[:, steps.first : steps.end] = new
    else:
        rows = torch.arange(len(new), device=new.device)[:, None]
        cache[rows, steps.at] = new
    return cache
