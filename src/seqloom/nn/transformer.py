"""Transformer blocks: self-attention, attention to a source, and a feed-forward network (S5)."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from seqloom.errors import ConfigError
from seqloom.nn.half_layers import InputNorm, add_dropped, relu_dropped
from seqloom.nn.modules import Dropout
from seqloom.nn.positions import Rotary
from seqloom.nn.scaled_attention import scaled_attention
from seqloom.nn.token_mixing import (
    Cache,
    HeadSizes,
    Mixing,
    NextSteps,
    Recurrence,
    SelfAttention,
    SimpleAttention,
)
from seqloom.nn.units import Ssru

__all__ = ["GEGLU", "Block", "BlockOptions", "CrossAttention", "Keys"]


@dataclass(frozen=True)
class BlockOptions:
    """Options of a block, the same for all blocks of a stack."""

    width: int
    inner: int
    heads: int
    head_width: int  # of queries and keys: m
    value_width: int  # m_v
    bias: bool = False  # whether attention projections have a bias
    norm_first: bool = True
    inner_kind: Literal["relu", "gelu", "swish", "gated"] = "relu"
    mixing: Literal["attention", "simple", "ssru"] = "attention"
    rotary: bool = False
    dropout: float = 0.0
    source: int | None = None  # size of the encoder's states, if it has cross-attention

    def __post_init__(self) -> None:
        if self.rotary and self.mixing != "attention":
            raise ConfigError(
                "rotary positions turn the queries and keys of self-attention, and mixing = "
                f"{self.mixing!r} has none",
                remedy="choose mixing = 'attention' or other positions",
            )

    @property
    def sizes(self) -> HeadSizes:
        return HeadSizes(self.heads, self.head_width, self.value_width)


class Keys(NamedTuple):
    """Keys and values, split into heads."""

    keys: Float[Tensor, "B H S E"]
    values: Float[Tensor, "B H S V"]


class CrossAttention(nn.Module):
    """Multi-head attention to the source; the paths of a beam share its keys.

    Vaswani et al. 2017, Attention Is All You Need.
    """

    def __init__(self, width: int, source: int, sizes: HeadSizes, *, bias: bool = False) -> None:
        super().__init__()
        self.sizes = sizes
        heads, key, value = sizes
        self.query = nn.Linear(width, heads * key, bias=bias)
        self.project = nn.Linear(source, heads * (key + value), bias=bias)
        self.combine = nn.Linear(heads * value, width, bias=bias)
        for layer in (self.query, self.project, self.combine):
            nn.init.xavier_uniform_(layer.weight)
            if bias:
                nn.init.zeros_(layer.bias)

    def prepare(self, states: Float[Tensor, "B S E"]) -> Keys:
        """Keys and values, once per sentence."""
        heads, key, value = self.sizes
        parts = self.project(states).split((heads * key, heads * value), dim=-1)
        return Keys(*(part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts))

    def forward(
        self,
        inputs: Float[Tensor, "R T D"],
        keys: Keys,
        mask: Bool[Tensor, "B S"],
        *,
        trace: bool = False,
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R H T S"] | None]:
        """The output of each position and, with `trace`, its attention weights."""
        rows, steps, _ = inputs.shape
        query, seen = self._queries(inputs, len(mask)), mask[:, None, None]
        output = scaled_attention(query, keys.keys, keys.values, seen)
        output = self.combine(output.transpose(1, 2).reshape(rows, steps, -1))
        return output, self._weights(query, keys, mask, rows) if trace else None

    def weigh(
        self, inputs: Float[Tensor, "R T D"], keys: Keys, mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "R H T S"]:
        """The attention weights of each position, head by head."""
        return self._weights(self._queries(inputs, len(mask)), keys, mask, len(inputs))

    def _weights(self, query: Tensor, keys: Keys, mask: Tensor, rows: int) -> Tensor:
        scores = query @ keys.keys.transpose(2, 3) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1)
        split = weights.unflatten(2, (rows // len(mask), -1))  # (B, H, K, T, S)
        return split.transpose(1, 2).flatten(0, 1)

    def _queries(self, inputs: Float[Tensor, "R T D"], sentences: int) -> Float[Tensor, "B H Q E"]:
        """The queries of all Q = K·T positions of a sentence."""
        query = self.query(inputs).view(sentences, -1, self.sizes.heads, self.sizes.key)
        return query.transpose(1, 2)


class GEGLU(nn.Module):
    """The second half of the values, gated by the GELU of the first.

    Shazeer 2020, GLU Variants Improve Transformer; Hendrycks and Gimpel 2016, Gaussian Error Linear
    Units.
    """

    def forward(self, values: Float[Tensor, "*rows D2"]) -> Float[Tensor, "*rows D"]:
        gate, content = values.chunk(2, dim=-1)
        return functional.gelu(gate) * content


class Block(nn.Module):
    """A Transformer block: self-attention, cross-attention if there is a source, and a feed-forward
    network.

    Each sublayer is residual, with a layer norm before it (`norm_first`) or after the sum (S5.4).

    Vaswani et al. 2017, Attention Is All You Need; Ba et al. 2016, Layer Normalization; norm first:
    Xiong et al. 2020, On Layer Normalization in the Transformer Architecture.
    """

    def __init__(self, options: BlockOptions) -> None:
        super().__init__()
        width, source = options.width, options.source
        self.width = width
        self.heads = options.heads
        self.inner = options.inner
        self.norm_first = options.norm_first
        self.attention = _mixing(options)
        self.cross = (
            None
            if source is None
            else CrossAttention(width, source, options.sizes, bias=options.bias)
        )
        self.network = _network(options)
        norm = InputNorm if options.norm_first else nn.LayerNorm
        self.norms = nn.ModuleList(norm(width) for _ in range(2 if source is None else 3))
        self.dropout = Dropout(options.dropout)

    @property
    def sublayers(self) -> tuple[str, ...]:
        """The names of its sublayers, in order."""
        cross = () if self.cross is None else ("cross-attention",)
        return (self.attention.name, *cross, "feed-forward")

    def prepare(self, states: Float[Tensor, "B S E"]) -> Keys:
        """Keys and values of the source, once per sentence."""
        if self.cross is None:
            raise TypeError("this block has no attention to a source")
        return self.cross.prepare(states)

    def empty_cache(self, rows: int) -> Cache:
        """The cache of rows that have read nothing."""
        like = next(self.parameters()).new_empty(rows, 0, self.width)
        return self.attention.empty_cache(like)

    def encode(
        self, inputs: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Run as a block of an encoder."""
        hidden = self._add_residual(inputs, self.attention(self._norm_input(inputs, 0), mask), 0)
        return self._add_residual(hidden, self.network(self._norm_input(hidden, 1)), 1)

    def decode(
        self,
        inputs: Float[Tensor, "R T D"],
        cache: Cache,
        steps: NextSteps,
        source: tuple[Keys, Bool[Tensor, "B S"]] | None = None,
        *,
        trace: bool = False,
    ) -> tuple[Float[Tensor, "R T D"], Cache, Float[Tensor, "R H T S"] | None]:
        """Run as a block of a decoder: causal, continuing from the cache."""
        weights = None
        output, cache = self.attention.extend(self._norm_input(inputs, 0), cache, steps)
        hidden = self._add_residual(inputs, output, 0)
        if self.cross is not None and source is not None:
            output, weights = self.cross(self._norm_input(hidden, 1), *source, trace=trace)
            hidden = self._add_residual(hidden, output, 1)
        last = len(self.norms) - 1
        hidden = self._add_residual(hidden, self.network(self._norm_input(hidden, last)), last)
        return hidden, cache, weights

    def _norm_input(self, values: Tensor, number: int) -> Tensor:
        return self.norms[number](values) if self.norm_first else values

    def _add_residual(self, values: Tensor, change: Tensor, number: int) -> Tensor:
        total = add_dropped(values, change, self.dropout.kept_now)
        if total is None:
            total = values + self.dropout(change)
        return total if self.norm_first else self.norms[number](total)


def _mixing(options: BlockOptions) -> Mixing:
    match options.mixing:
        case "attention":
            rotary = Rotary(options.head_width) if options.rotary else None
            return SelfAttention(options.width, options.sizes, bias=options.bias, rotary=rotary)
        case "simple":
            return SimpleAttention()
        case "ssru":
            return Recurrence(Ssru(options.width, options.width))


class FeedForward(nn.Sequential):
    """The feed-forward network: a layer, its activation, dropout, and a layer back to the width."""

    def forward(self, input: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        first, activation, dropout, second = self
        inner = first(input)
        if isinstance(activation, nn.ReLU) and isinstance(dropout, Dropout):
            active = relu_dropped(inner, dropout.kept_now)
            if active is not None:
                return second(active)
        return second(dropout(activation(inner)))


def _network(options: BlockOptions) -> FeedForward:
    width, inner = options.width, options.inner
    activation: nn.Module
    match options.inner_kind:
        case "relu":
            activation = nn.ReLU(inplace=True)
        case "gelu":
            activation = nn.GELU()
        case "swish":
            activation = nn.SiLU()
        case "gated":
            activation = GEGLU()
    first = nn.Linear(width, 2 * inner if options.inner_kind == "gated" else inner)
    return FeedForward(first, activation, Dropout(options.dropout), nn.Linear(inner, width))
