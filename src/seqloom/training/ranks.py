"""Workers that share each batch: one process per core, on one machine or on many.

Every worker computes a share of the batch, the gradients are added up, and each worker makes the
same update on its own copy of the model. Alone, everything here does nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
from torch import Tensor, distributed, nn

from seqloom.errors import RunError

__all__ = ["ALONE", "Ranks", "meeting"]

PATIENCE = timedelta(hours=12)  # how long workers wait while the first one validates and saves


@dataclass(frozen=True)
class Ranks:
    """Which worker this is, and how many there are."""

    rank: int = 0
    world: int = 1

    def agree(self, number: float) -> float:
        """The number that the first worker gives; the others wait for it."""
        if self.world == 1:
            return number
        word = torch.tensor([number], dtype=torch.float64)
        with _lost_worker():
            distributed.broadcast(word, src=0)
        return float(word)

    def sum_gradients(self, model: nn.Module, loss: float) -> float:
        """Add up all workers' gradients in place; the sum of their losses."""
        if self.world == 1:
            return loss
        learning = (parameter for parameter in model.parameters() if parameter.requires_grad)
        gradients = [_gradient(parameter) for parameter in learning]
        flat = torch.cat([*(each.flatten() for each in gradients), torch.tensor([loss])])
        with _lost_worker():
            distributed.all_reduce(flat)
        sizes = [each.numel() for each in gradients]
        for gradient, total in zip(gradients, flat[:-1].split(sizes), strict=True):
            gradient.copy_(total.view_as(gradient))
        return float(flat[-1])


ALONE = Ranks()


@contextmanager
def meeting(place: Path, rank: int, world: int) -> Iterator[Ranks]:
    """Join the other workers, which find one another through a file."""
    distributed.init_process_group(
        "gloo", init_method=place.absolute().as_uri(), rank=rank, world_size=world, timeout=PATIENCE
    )
    try:
        yield Ranks(rank, world)
    finally:
        distributed.destroy_process_group()


def _gradient(parameter: nn.Parameter) -> Tensor:
    """A parameter's gradient; zero where this worker's share gave none."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


@contextmanager
def _lost_worker() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RunError("a worker was lost; give the same command again to go on") from error
