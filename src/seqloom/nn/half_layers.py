"""Layers between bfloat16 products, each fused into one pass of the compiled core.

The residual stream stays in float32; inputs of products are written in bfloat16.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from seqloom.nn.half_kernels import half_kernels, uses_half_kernels

__all__ = ["InputNorm", "add_dropped", "drop_floats", "half_losses", "relu_dropped"]

ALL = 256  # of 256 values, those kept without dropout


class InputNorm(nn.LayerNorm):
    """Layer norm before a product: its outputs are in bfloat16 if products are."""

    def forward(self, input: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        if input.dtype == torch.float32 and uses_half_kernels(input):
            normed: Tensor = _Norm.apply(input, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
            return normed
        return super().forward(input)


def drop_floats(values: Float[Tensor, "*shape"], kept: int) -> Float[Tensor, "*shape"] | None:
    """Dropout that keeps `kept` of 256 values; None if the kernels do not apply."""
    if values.dtype != torch.float32 or not uses_half_kernels(values):
        return None
    dropped: Tensor = _Drop.apply(values, kept)  # type: ignore[no-untyped-call]
    return dropped


def add_dropped(
    values: Float[Tensor, "*shape"], change: Float[Tensor, "*shape"], kept: int
) -> Float[Tensor, "*shape"] | None:
    """Residual sum with dropout that keeps `kept` of 256 values; None if the kernels do
    not apply.
    """
    fits = values.dtype == torch.float32 and change.dtype == torch.bfloat16 and kept < ALL
    if not fits or not uses_half_kernels(values, change):
        return None
    total: Tensor = _AddDropped.apply(values, change, kept)  # type: ignore[no-untyped-call]
    return total


def relu_dropped(values: Float[Tensor, "*shape"], kept: int) -> Float[Tensor, "*shape"] | None:
    """ReLU with dropout that keeps `kept` of 256 values; None if the kernels do not apply."""
    if values.dtype != torch.bfloat16 or kept == ALL or not uses_half_kernels(values):
        return None
    found: Tensor = _ReluDropped.apply(values, kept)  # type: ignore[no-untyped-call]
    return found


def half_losses(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, "N"],
    factors: Float[Tensor, "N"],
    smoothing: float,
    agreement: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "N"]] | None:
    """The weighted sum of smoothed cross-entropies, and the targets' log-probabilities.

    With `agreement` (R-Drop), the second half of the rows repeats the positions of the first, and
    the divergence of both is added with this weight. The gradient overwrites the logits. None if
    the kernels do not apply.
    """
    fits = logits.dtype == torch.bfloat16 and factors.dtype == torch.float32
    if not (fits and logits.is_contiguous() and uses_half_kernels(logits, targets)):
        return None
    losses, likelihoods = factors.new_empty(2, len(targets))
    tensors = (logits, targets.contiguous(), factors.contiguous(), losses, likelihoods)
    addresses = [each.data_ptr() for each in tensors]
    if agreement:
        kernel = half_kernels().pair_loss
        kernel(*addresses, len(targets), logits.shape[1], smoothing, agreement)
    else:
        half_kernels().loss(*addresses, len(targets), logits.shape[1], smoothing)
    return (losses * factors).sum(), likelihoods


def _seed() -> int:
    """A seed from torch's generator."""
    return int(torch.empty((), dtype=torch.int64).random_())


class _Drop(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: int) -> Tensor:
        ctx.drawn = _seed(), kept
        return _drop(values, *ctx.drawn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, None]:
        return _drop(change, *ctx.drawn), None


def _drop(values: Tensor, seed: int, kept: int) -> Tensor:
    values = values.contiguous()
    out = torch.empty_like(values)
    half_kernels().drop(values.data_ptr(), out.data_ptr(), out.numel(), seed, kept)
    return out


class _AddDropped(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, change: Tensor, kept: int) -> Tensor:
        values, change = values.contiguous(), change.contiguous()
        out, ctx.drawn = torch.empty_like(values), (_seed(), kept)
        addresses = (each.data_ptr() for each in (values, change, out))
        half_kernels().add(*addresses, out.numel(), *ctx.drawn)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, Tensor, None]:
        change = change.contiguous()
        out = torch.empty_like(change, dtype=torch.bfloat16)
        half_kernels().add_back(change.data_ptr(), out.data_ptr(), out.numel(), *ctx.drawn)
        return change, out, None


class _ReluDropped(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: int) -> Tensor:
        values = values.contiguous()
        out, ctx.kept = torch.empty_like(values), kept
        half_kernels().relu(values.data_ptr(), out.data_ptr(), out.numel(), _seed(), kept)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, None]:
        (after,) = ctx.saved_tensors
        change = change.contiguous()
        out = torch.empty_like(after)
        addresses = (each.data_ptr() for each in (change, after, out))
        half_kernels().relu_back(*addresses, out.numel(), ctx.kept)
        return out, None


class _Norm(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Tensor:
        values = values.contiguous()
        width = values.shape[-1]
        out = torch.empty_like(values, dtype=torch.bfloat16)
        means, slopes = values.new_empty(2, out.numel() // width)
        addresses = (each.data_ptr() for each in (values, gain, bias, out, means, slopes))
        half_kernels().norm(*addresses, len(means), width, epsilon)
        ctx.save_for_backward(values, gain, means, slopes)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        values, gain, means, slopes = ctx.saved_tensors
        change, out = change.contiguous(), torch.empty_like(values)
        to_gain, to_bias = values.new_zeros(2, values.shape[-1])
        tensors = (change, values, gain, means, slopes, out, to_gain, to_bias)
        half_kernels().norm_back(
            *(each.data_ptr() for each in tensors), len(means), values.shape[-1]
        )
        return out, to_gain, to_bias, None
