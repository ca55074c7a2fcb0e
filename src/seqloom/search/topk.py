"""Top-k, maximum and log-sum-exp of large tensors without a copy."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

__all__ = ["SMALL_ROW", "log_sum_exp", "row_max", "stable_topk"]

BLOCK = 64  # block size
SMALL_ROW = 1_024  # row size below which blocks do not pay
LARGE_TABLE = 2**15  # number of values above which they do
CHUNK = 2**18  # exponentials held at a time
MIN_SUM = 1e-20  # sum of exponentials below which single precision is too coarse


def stable_topk(
    values: Float[Tensor, "R V"], count: int
) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """The `count` largest values of each row in order, with their indices; ties go to the lower
    index.

    The order of −∞ values in a long row is arbitrary.
    """
    count = min(count, values.shape[1])
    best, where = _top(values, min(count + 1, values.shape[1]))
    tied = best[:, 1:] == best[:, :-1]
    some = bool(tied.any())
    if some and values.shape[1] > SMALL_ROW:
        tied &= best[:, 1:] > -torch.inf
    best, where = best[:, :count], where[:, :count]
    if some:
        rows = tied.any(dim=1).nonzero().squeeze(1)
        order = values[rows].sort(dim=1, descending=True, stable=True)
        best[rows], where[rows] = order.values[:, :count], order.indices[:, :count]
    return best, where


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """torch.topk, restricted to the blocks with the largest maxima."""
    width = values.shape[1]
    if width <= max(SMALL_ROW, 2 * count * BLOCK):
        best, where = values.topk(count, dim=1)
        return best, where
    whole = width // BLOCK * BLOCK
    blocks = values[:, :whole].unflatten(1, (-1, BLOCK))
    chosen = blocks.amax(dim=2).topk(count, dim=1).indices  # (R, C)
    looked = blocks.gather(1, chosen[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    if whole < width:
        looked = torch.cat([looked, values[:, whole:]], dim=1)
        chosen = functional.pad(chosen, (0, 1), value=whole // BLOCK)
    best, where = looked.topk(count, dim=1)
    return best, chosen.gather(1, where // BLOCK).mul_(BLOCK).add_(where % BLOCK)


def row_max(
    values: Float[Tensor, "R V"],
) -> tuple[Float[Tensor, "R"], Int[Tensor, "R"]]:
    """The maximum of each row, and its first index."""
    width = values.shape[1]
    if width <= SMALL_ROW or values.numel() <= LARGE_TABLE:
        best, where = values.max(dim=1)
        return best, where
    last = width - BLOCK
    tops = values[:, : width // BLOCK * BLOCK].unflatten(1, (-1, BLOCK)).amax(dim=2)
    tops = torch.cat([tops, values[:, last:].amax(dim=1, keepdim=True)], dim=1)
    first = (tops.max(dim=1).indices * BLOCK).clamp(max=last)[:, None]  # index of the best block
    places = first + torch.arange(BLOCK, device=values.device)
    best, inside = values.gather(1, places).max(dim=1)
    return best, first[:, 0] + inside


def log_sum_exp(logits: Float[Tensor, "R V"]) -> Float[Tensor, "R"]:
    """The logarithm of the sum of each row's exponentials."""
    rows = max(1, CHUNK // logits.shape[1])
    parts = (logits,) if len(logits) <= rows else logits.split(rows)
    sums = torch.cat([part.exp().sum(dim=1) for part in parts])
    least, most = sums.aminmax()
    if float(least) > MIN_SUM and float(most) < torch.inf:
        return sums.log()
    return torch.cat([part.logsumexp(dim=1) for part in parts])
