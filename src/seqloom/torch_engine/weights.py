"""A block's weights as one product takes them, and the steps that every kind of block has."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.token_mixing import Mixing, SelfAttention
from seqloom.nn.transformer import Block

__all__ = [
    "SIMD_WIDTH",
    "Affine",
    "BlockWeights",
    "is_supported",
    "norm_function",
    "padding_bias",
    "round_up",
]

SIMD_WIDTH = 16  # values that a processor takes at once: softmax is far slower over fewer


def round_up(count: int) -> int:
    """So many values, and those that fill up the last lanes."""
    return -(-count // SIMD_WIDTH) * SIMD_WIDTH


def padding_bias(mask: Bool[Tensor, "B S"], kind: torch.dtype) -> Float[Tensor, "B C"]:
    """0 at real positions, −∞ at padding and in what fills up the last lanes."""
    padding = torch.zeros_like(mask, dtype=kind).masked_fill_(~mask, -torch.inf)
    more = round_up(mask.shape[1]) - mask.shape[1]
    return functional.pad(padding, (0, more), value=-torch.inf)


def is_supported(mixing: Mixing) -> bool:
    """Whether positions meet in a way that engines have a form for."""
    return (
        isinstance(mixing, SelfAttention)
        and mixing.rotary is None
        and mixing.sizes.key == mixing.sizes.value
    )


class Affine(NamedTuple):
    """A linear map with its matrix transposed."""

    matrix: Float[Tensor, "D D2"]
    bias: Float[Tensor, "D2"] | None

    @classmethod
    def of(cls, linear: nn.Linear, scale: Float[Tensor, "D2"] | None = None) -> "Affine":
        """A copy of a layer's weights, each output multiplied by its scale."""
        factors = torch.ones_like(linear.weight[:, 0]) if scale is None else scale
        bias = None if linear.bias is None else linear.bias.detach() * factors
        return cls((linear.weight.detach() * factors[:, None]).t().contiguous(), bias)

    @classmethod
    def concatenate(cls, maps: Sequence["Affine"]) -> "Affine":
        """Several maps of the same inputs as one."""
        biases = [each.bias for each in maps if each.bias is not None]
        return cls(
            torch.cat([each.matrix for each in maps], dim=1),
            torch.cat(biases) if biases else None,
        )

    def __call__(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N D2"]:
        if self.bias is None:
            return torch.mm(inputs, self.matrix)
        return torch.addmm(self.bias, inputs, self.matrix)

    def add_to(
        self, hidden: Float[Tensor, "N D2"], inputs: Float[Tensor, "N D"]
    ) -> Float[Tensor, "N D2"]:
        """The hidden values, to which the map of the inputs is added in their place."""
        total = hidden.addmm_(inputs, self.matrix)
        return total if self.bias is None else total.add_(self.bias)


def norm_function(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """A layer norm as a plain function."""
    if not isinstance(module, nn.LayerNorm):
        return module
    shape, weight, bias, least = (
        module.normalized_shape,
        module.weight.detach().clone(),
        module.bias.detach().clone(),
        module.eps,
    )
    return lambda values: torch.layer_norm(values, shape, weight, bias, least)


class BlockWeights:
    """Copies of a block's weights, and its steps on rows of hidden values."""

    def __init__(self, block: Block) -> None:
        attention = block.attention
        if not isinstance(attention, SelfAttention):
            raise TypeError("there is no engine for this block")
        widen, narrow = (part for part in block.network if isinstance(part, nn.Linear))
        activation = block.network[1]
        self.heads, self.size, _ = attention.sizes
        self.width = self.heads * self.size
        self.norms = [norm_function(norm) for norm in block.norms]
        self.norm_first = block.norm_first
        self.activation = torch.relu_ if isinstance(activation, nn.ReLU) else activation
        like = attention.project.weight.detach()
        self.scale = torch.full_like(like[: self.width, 0], 1 / math.sqrt(self.size))
        ones = torch.ones_like(like[: 2 * self.width, 0])
        self.project = Affine.of(attention.project, torch.cat([self.scale, ones]))
        self.combine = Affine.of(attention.combine)
        self.widen, self.narrow = Affine.of(widen), Affine.of(narrow)

    def feed_forward(self, hidden: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        """The inner network."""
        inner = self.activation(self.widen(self.pre_norm(hidden, -1)))
        return self.post_norm(self.narrow.add_to(hidden, inner), -1)

    def merge_heads(self, found: Float[Tensor, "BH M E"]) -> Float[Tensor, "N D"]:
        """The heads of each row side by side."""
        split = found.view(-1, self.heads, found.shape[1], self.size)
        return split.transpose(1, 2).reshape(-1, self.width)

    def pre_norm(self, hidden: Tensor, number: int) -> Tensor:
        """What a step of the block works on."""
        return self.norms[number](hidden) if self.norm_first else hidden

    def post_norm(self, hidden: Tensor, number: int) -> Tensor:
        """What becomes of its sum."""
        return hidden if self.norm_first else self.norms[number](hidden)
