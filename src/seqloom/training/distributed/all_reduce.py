"""The sum of a tensor over all ranks, in the order of the ranks, so that all get the same bits."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Shaped
from torch import Tensor

__all__ = ["SENT_AT_ONCE", "Buffers", "bytes_of", "sum_in_rank_order"]

SENT_AT_ONCE = 1 << 21  # bytes that a rank sends, up to which whole tensors go to every other

Buffers = Mapping[int, memoryview]  # by rank
Transfer = Callable[[Buffers, Buffers], None]  # sends the first, fills the second


def sum_in_rank_order(
    values: Shaped[Tensor, "N"], *, rank: int, world: int, transfer: Transfer
) -> None:
    """Sum over all ranks, in place: the first rank's values plus the second's, and so on.

    Small tensors go from each rank to every other, which takes one one-way delay; of large ones
    each rank sums a share and sends the result to the others, which takes two.
    """
    others = [other for other in range(world) if other != rank]
    if len(others) * values.nbytes <= SENT_AT_ONCE:
        parts = _parts(values, rank, world)
        mine = bytes_of(values)
        transfer(dict.fromkeys(others, mine), {other: bytes_of(parts[other]) for other in others})
        values.copy_(_sum(parts))
        return
    shares = values.tensor_split(world)
    mine, parts = bytes_of(shares[rank]), _parts(shares[rank], rank, world)
    theirs = {other: bytes_of(shares[other]) for other in others}
    transfer(theirs, {other: bytes_of(parts[other]) for other in others})
    shares[rank].copy_(_sum(parts))
    transfer(dict.fromkeys(others, mine), theirs)


def bytes_of(values: Shaped[Tensor, "N"]) -> memoryview:
    """The memory of a contiguous tensor."""
    return values.detach().view(torch.uint8).numpy().data


def _parts(values: Shaped[Tensor, "N"], rank: int, world: int) -> list[Tensor]:
    """A tensor for what each rank has; this one's own in its place."""
    return [values if other == rank else torch.empty_like(values) for other in range(world)]


def _sum(parts: list[Tensor]) -> Tensor:
    """The sum, in the memory of the first."""
    total, *further = parts
    for part in further:
        total += part
    return total
