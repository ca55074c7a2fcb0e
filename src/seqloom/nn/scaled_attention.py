"""Scaled dot-product attention (S5.1)."""

import math
from ctypes import byref
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from seqloom.nn.half_kernels import (
    AttentionStructure,
    HeadsStructure,
    half_kernels,
    uses_half_kernels,
)

__all__ = ["scaled_attention"]

UNIT = 16  # vector width of the kernels: head sizes are multiples of it


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
    halves = [each.to(torch.get_autocast_dtype("cpu")) for each in (query, key, value)]
    found: Tensor
    if _fits_kernels(query, key, value, mask):
        found = _KernelAttention.apply(*halves, (mask, causal))  # type: ignore[no-untyped-call]
        return found
    if causal:
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    with torch.autocast("cpu", enabled=False):
        found = _HalfAttention.apply(*halves, mask)  # type: ignore[no-untyped-call]
    return found


def _fits_kernels(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    sized = query.shape[3] == value.shape[3] and not query.shape[3] % UNIT
    padded = mask is None or mask.shape == (len(query), 1, 1, key.shape[2])
    return sized and padded and uses_half_kernels(query, key, value)


class _HalfAttention(Function):
    """Attention with products in bfloat16 and the softmax in float32.

    Its gradient is several times as fast as torch's for bfloat16 on a CPU.
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


class _KernelAttention(Function):
    """The same by the compiled core, head by head within the processor's caches."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, visible: tuple[Tensor | None, bool]
    ) -> Tensor:
        mask, causal = visible
        query, key, value = map(_in_rows, (query, key, value))
        sentences, heads, steps, size = query.shape
        room = (key.shape[2] + UNIT - 1) // UNIT * UNIT
        weights = query.new_empty(sentences, heads, steps, room)
        out = query.new_empty(sentences, steps, heads, size)
        seen = None if mask is None else mask.reshape(sentences, -1).contiguous()
        half_kernels().attend(byref(_structure((query, key, value), seen, weights, out, causal)))
        ctx.save_for_backward(query, key, value, weights, seen)
        ctx.causal = causal
        return out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, seen = ctx.saved_tensors
        change = change.transpose(1, 2).contiguous()
        found = [torch.empty_like(each.transpose(1, 2)) for each in (query, key, value)]
        gradients = tuple(each.transpose(1, 2) for each in found)
        whole = _structure((query, key, value), seen, weights, change, ctx.causal)
        whole.to_query, whole.to_key, whole.to_value = map(_heads, gradients)
        half_kernels().attend_back(byref(whole))
        return *gradients, None


def _structure(
    parts: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None,
    weights: Tensor,
    out: Tensor,
    causal: bool,
) -> AttentionStructure:
    query, key, _ = parts
    whole = AttentionStructure(*query.shape[:3], key.shape[2], query.shape[3], causal)
    whole.scale = 1 / math.sqrt(query.shape[3])
    whole.mask = None if mask is None else mask.data_ptr()
    whole.query, whole.key, whole.value = map(_heads, parts)
    whole.weights, whole.out = weights.data_ptr(), out.data_ptr()
    return whole


def _heads(values: Float[Tensor, "B H T E"]) -> HeadsStructure:
    sentence, head, step, _ = values.stride()
    return HeadsStructure(values.data_ptr(), sentence, step, head)


def _in_rows(values: Float[Tensor, "B H T E"]) -> Float[Tensor, "B H T E"]:
    """The tensor with contiguous vectors."""
    return values if values.stride(3) == 1 else values.contiguous()
