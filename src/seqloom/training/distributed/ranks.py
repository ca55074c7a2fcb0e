"""Workers that share each batch: one process per core, on one machine or on many.

Every worker computes a share of the batch, the gradients are added up, and each worker makes the
same update on its own copy of the model. Alone, everything here does nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from secrets import token_hex
from typing import NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor, distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seqloom.errors import Interrupted, RunError

__all__ = ["SINGLE_PROCESS", "Ranks", "ReducedLoss", "process_group"]

TIMEOUT = timedelta(hours=12)  # how long workers wait while the first one validates and saves


class ReducedLoss(NamedTuple):
    """What all workers have in common after an update's gradients are added up."""

    loss: float
    stop: bool  # whether one of them was asked to stop


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Ranks:
    """Which worker this is, how many there are, and whether this one was asked to stop."""

    rank: int = 0
    world: int = 1
    should_stop: Callable[[], bool] = _never

    def broadcast(self, values: Shaped[Tensor, "N"]) -> Shaped[Tensor, "N"]:
        """The values that the first worker gives, in place; the others wait for them."""
        if self.world > 1:
            with _worker_errors():
                distributed.broadcast(values, src=0)
        return values

    def sum_gradients(self, model: nn.Module, loss: float) -> ReducedLoss:
        """Replace gradients by their sums over all workers, and add up the losses.

        One message holds it all, however many batches were accumulated for the update.
        """
        if self.world == 1:
            return ReducedLoss(loss, self.should_stop())
        learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
        words = learning[0].new_tensor([loss, self.should_stop()])
        flat = torch.cat([*(_gradient(each).flatten() for each in learning), words])
        with _worker_errors():
            distributed.all_reduce(flat)
        *sums, words = flat.split([*(each.numel() for each in learning), 2])
        for parameter, total in zip(learning, sums, strict=True):
            parameter.grad = total.view_as(parameter)
        return ReducedLoss(float(words[0]), bool(words[1]))

    def sum(self, values: Tensor) -> Tensor:
        """The sum of what all workers give, in place."""
        if self.world > 1:
            with _worker_errors():
                distributed.all_reduce(values)
        return values


SINGLE_PROCESS = Ranks()


@contextmanager
def process_group(
    place: str, rank: int, world: int, *, asked: Callable[[], bool] = _never
) -> Iterator[Ranks]:
    """Join the other workers at a place as torch.distributed names it: a file, or `env://`.

    Numbers go over gloo; gradients go over NCCL where they lie on GPUs. Interrupted, if this worker
    is asked to stop before all are there.
    """
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    board, _, _ = next(rendezvous(place, rank, world, timeout=TIMEOUT))
    attempt = _agree_on_name(board, Ranks(rank, world, asked))
    distributed.init_process_group(
        backend,
        store=PrefixStore(attempt, board),
        rank=rank,
        world_size=world,
        timeout=TIMEOUT,
    )
    try:
        yield Ranks(rank, world, asked)
    finally:
        distributed.destroy_process_group()


def _agree_on_name(board: Store, ranks: Ranks) -> str:
    """A name for this meeting that all who are there know, and nobody who was there before.

    torchrun keeps what a dead attempt wrote on its board, addresses among it, and its count of
    attempts is not the same on all machines. So each other worker puts up a fresh word, and the
    first answers every word it sees until all have found their answer.
    """
    word = token_hex(16)
    if ranks.rank:
        board.set(f"here/{ranks.rank}", word)
        _wait_until(lambda: board.check([f"answer/{word}"]), ranks)
        attempt = board.get(f"answer/{word}").decode()
        board.set(f"met/{attempt}/{ranks.rank}", word)
        return attempt

    def all_met() -> bool:
        others = range(1, ranks.world)
        for rank in others:
            if board.check([f"here/{rank}"]):
                board.set(f"answer/{board.get(f'here/{rank}').decode()}", word)
        return all(board.check([f"met/{word}/{rank}"]) for rank in others)

    _wait_until(all_met, ranks)
    return word


def _wait_until(ready: Callable[[], bool], ranks: Ranks) -> None:
    with _worker_errors():
        while not ready():
            if ranks.should_stop():
                raise Interrupted(
                    "stopped before an update was made", remedy="the same command goes on"
                )
            time.sleep(0.02)


def _gradient(parameter: nn.Parameter) -> Tensor:
    """A parameter's gradient; zero where this worker's share gave none."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


@contextmanager
def _worker_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RunError(
            "a worker was lost", remedy="give the same command again to go on"
        ) from error
