"""Softmax of scaled dot products, times the values: the attention of Transformers (S5.1)."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

__all__ = ["scaled_attention"]


def scaled_attention(
    query: Float[Tensor, "B H T E"],
    key: Float[Tensor, "B H S E"],
    value: Float[Tensor, "B H S V"],
    mask: Bool[Tensor, "#B 1 #T S"] | None,
    *,
    causal: bool = False,
) -> Float[Tensor, "B H T V"]:
    """Softmax of q·k/√E over what is seen, times the values, head by head."""
    if not (torch.is_autocast_enabled("cpu") and torch.is_grad_enabled() and query.is_cpu):
        return functional.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
    if causal:
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    halves = (each.to(torch.get_autocast_dtype("cpu")) for each in (query, key, value))
    with torch.autocast("cpu", enabled=False):
        found: Tensor = _HalfAttention.apply(*halves, mask)  # type: ignore[no-untyped-call]
    return found


class _HalfAttention(torch.autograd.Function):
    """Attention whose products are computed in bfloat16 and whose softmax in float32.

    Its gradient is several times as fast as the one of torch for bfloat16 on a CPU.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = (query @ key.transpose(2, 3)).float().mul_(1 / math.sqrt(query.shape[-1]))
        if mask is not None:
            scores.masked_fill_(~mask, -torch.inf)
        weights = scores.softmax(-1).to(query.dtype)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, weights = ctx.saved_tensors
        to_weights, full = (change @ value.transpose(2, 3)).float(), weights.float()
        to_weights -= (to_weights * full).sum(-1, keepdim=True)
        scores = to_weights.mul_(full).mul_(1 / math.sqrt(query.shape[-1])).to(query.dtype)
        to_value = weights.transpose(2, 3) @ change
        return scores @ key, scores.transpose(2, 3) @ query, to_value, None
