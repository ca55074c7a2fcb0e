"""Transformer blocks: attention with heads, residual sums, norms, an inner network (SPEC S5)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.dropout import Dropout

__all__ = ["Block", "BlockSize", "Cache", "CrossAttention", "Keys", "SelfAttention"]


class Keys(NamedTuple):
    """Keys and values that queries look at, cut into heads."""

    keys: Float[Tensor, "B H S E"]
    values: Float[Tensor, "B H S E"]


class Cache(NamedTuple):
    """Keys and values of what a row has read so far, with room for more (SPEC S5.7)."""

    keys: Float[Tensor, "R C H E"]
    values: Float[Tensor, "R C H E"]


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself; the maps have no bias (SPEC S5.5)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.combine = nn.Linear(width, width, bias=False)
        nn.init.xavier_uniform_(self.project.weight, gain=1 / math.sqrt(2))
        nn.init.xavier_uniform_(self.combine.weight)

    def forward(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Each position looks at every real one."""
        query, key, value = self._split(inputs)
        return self._merge(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), mask)

    def extend(
        self, inputs: Float[Tensor, "R T D"], cache: Cache, positions: Int[Tensor, "R"]
    ) -> tuple[Float[Tensor, "R T D"], Cache]:
        """Each new position looks at itself and at what came before it in its row."""
        query, key, value = self._split(inputs)
        query = query.transpose(1, 2)
        if cache.keys.shape[1] == 0:
            output = self._merge(
                query, key.transpose(1, 2), value.transpose(1, 2), None, causal=True
            )
            return output, Cache(key, value)
        steps = inputs.shape[1]
        end = int(positions.max()) + steps
        cache = _with_room(cache, end)
        at = positions[:, None] + torch.arange(steps, device=positions.device)  # (R, T)
        rows = torch.arange(len(positions), device=positions.device)[:, None]
        cache.keys[rows, at] = key
        cache.values[rows, at] = value
        seen = torch.arange(end, device=at.device) <= at[:, None, :, None]  # (R, 1, T, end)
        keys, values = cache.keys[:, :end].transpose(1, 2), cache.values[:, :end].transpose(1, 2)
        return self._merge(query, keys, values, seen), cache

    def _split(self, inputs: Tensor) -> tuple[Tensor, ...]:
        split = self.project(inputs).unflatten(-1, (3, self.heads, -1))  # (R, T, 3, H, E)
        return split.unbind(2)

    def _merge(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        causal: bool = False,
    ) -> Tensor:
        output = functional.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
        return self.combine(output.transpose(1, 2).flatten(-2))


def _with_room(cache: Cache, steps: int) -> Cache:
    """The cache with at least so many places; it grows by half, so copies stay rare."""
    capacity = cache.keys.shape[1]
    if capacity >= steps:
        return cache
    extra = max(steps - capacity, capacity // 2, 8)
    return Cache(*(functional.pad(part, (0, 0, 0, 0, 0, extra)) for part in cache))


class CrossAttention(nn.Module):
    """Multi-head attention of output positions to the source; beams share its keys."""

    def __init__(self, width: int, source: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.project = nn.Linear(source, 2 * width, bias=False)
        self.combine = nn.Linear(width, width, bias=False)
        for layer in (self.query, self.project, self.combine):
            nn.init.xavier_uniform_(layer.weight)

    def prepare(self, states: Float[Tensor, "B S E"]) -> Keys:
        """Keys and values, once per sentence."""
        split = self.project(states).unflatten(-1, (2, self.heads, -1))  # (B, S, 2, H, E)
        key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        return Keys(key, value)

    def forward(
        self,
        inputs: Float[Tensor, "R T D"],
        keys: Keys,
        mask: Bool[Tensor, "B S"],
        *,
        trace: bool = False,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R H T S"] | None]:
        """What each position takes from the source; with `trace`, also how it looked at it."""
        rows, steps, _ = inputs.shape
        sentences = mask.shape[0]
        query = self.query(inputs).view(sentences, -1, self.heads, inputs.shape[2] // self.heads)
        query = query.transpose(1, 2)  # (B, H, K·T, E)
        seen = mask[:, None, None]
        output = functional.scaled_dot_product_attention(query, keys.keys, keys.values, seen)
        output = self.combine(output.transpose(1, 2).reshape(rows, steps, -1))
        return output, self._weights(query, keys.keys, seen, rows) if trace else None

    def _weights(self, query: Tensor, key: Tensor, seen: Tensor, rows: int) -> Tensor:
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)  # (B, H, K·T, S)
        split = weights.unflatten(2, (rows // len(weights), -1))  # (B, H, K, T, S)
        return split.transpose(1, 2).flatten(0, 1)


class BlockSize(NamedTuple):
    """Sizes of a block; `source` is that of what it looks at besides itself, if anything."""

    width: int
    inner: int
    heads: int
    source: int | None = None


class Block(nn.Module):
    """Attention to itself, attention to the source where there is one, and a two-layer network.

    Each is a residual step with a layer norm before it (`norm_first`) or after the sum (SPEC S5.4).
    """

    def __init__(self, size: BlockSize, *, norm_first: bool, dropout: float) -> None:
        super().__init__()
        width, inner, heads, source = size
        self.norm_first = norm_first
        self.attention = SelfAttention(width, heads)
        self.cross = None if source is None else CrossAttention(width, source, heads)
        self.network = nn.Sequential(
            nn.Linear(width, inner),
            nn.ReLU(inplace=True),
            Dropout(dropout),
            nn.Linear(inner, width),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 if source is None else 3))
        self.dropout = Dropout(dropout)

    def prepare(self, states: Float[Tensor, "B S E"]) -> Keys:
        """What the block will look at, once per sentence."""
        if self.cross is None:
            raise TypeError("this block looks at nothing but itself")
        return self.cross.prepare(states)

    def encode(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """A block of an encoder."""
        hidden = self._after(inputs, self.attention(self._before(inputs, 0), mask), 0)
        return self._after(hidden, self.network(self._before(hidden, 1)), 1)

    def decode(
        self,
        inputs: Float[Tensor, "R T D"],
        cache: Cache,
        positions: Int[Tensor, "R"],
        source: tuple[Keys, Bool[Tensor, "B S"]] | None,
        *,
        trace: bool = False,
    ) -> tuple[Float[Tensor, "R T D"], Cache, Float[Tensor, "R H T S"] | None]:
        """A block of a decoder: causal, from where the cache ends."""
        weights = None
        output, cache = self.attention.extend(self._before(inputs, 0), cache, positions)
        hidden = self._after(inputs, output, 0)
        if self.cross is not None and source is not None:
            output, weights = self.cross(self._before(hidden, 1), *source, trace=trace)
            hidden = self._after(hidden, output, 1)
        last = len(self.norms) - 1
        hidden = self._after(hidden, self.network(self._before(hidden, last)), last)
        return hidden, cache, weights

    def _before(self, values: Tensor, number: int) -> Tensor:
        return self.norms[number](values) if self.norm_first else values

    def _after(self, values: Tensor, change: Tensor, number: int) -> Tensor:
        total = values + self.dropout(change)
        return total if self.norm_first else self.norms[number](total)
