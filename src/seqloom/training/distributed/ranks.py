"""Data-parallel workers: one process per core, on one machine or several.

Every worker computes gradients for its share of the batch, the gradients are summed, and each
worker makes the same update on its own copy of the model. With a single process all of this is a
no-op.

Tensors travel over a connection between each two workers. Waiting is done in short slices, so that
signals are handled meanwhile. Each worker writes heartbeats to the key-value store of the
rendezvous; one whose heartbeat stops is given up.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from types import TracebackType
from typing import NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor, distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seqloom.errors import ConfigError, Interrupted
from seqloom.parallel import exit_code_of, exit_without_waiting
from seqloom.training.distributed.all_reduce import bytes_of, sum_in_rank_order
from seqloom.training.distributed.connections import PeerConnections, PeerLostError, PeerSilentError
from seqloom.training.distributed.joining import (
    Member,
    agree_on_name,
    connect_ranks,
    worker_errors,
)

__all__ = ["SINGLE_PROCESS", "Ranks", "ReducedLoss", "process_group"]

TIMEOUT = timedelta(hours=12)  # of the store, and the longest patience
PEER_TIMEOUT = "SEQLOOM_PEER_TIMEOUT"  # environment variable: seconds without a heartbeat
PATIENCE = 120.0  # its default
GRACE = 5.0  # seconds for pending communication when this worker is asked to stop


def _patience() -> float:
    """Seconds without a heartbeat after which a worker is given up."""
    told = os.environ.get(PEER_TIMEOUT, "")
    try:
        seconds = float(told or PATIENCE)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < TIMEOUT.total_seconds():
        raise ConfigError(f"{told!r} is no number of seconds", place=PEER_TIMEOUT)
    return seconds


class Heartbeat:
    """Heartbeats of all workers, through the key-value store of the rendezvous."""

    def __init__(self, board: Store, rank: int, world: int) -> None:
        self.patience = _patience()
        self._board, self._rank = board, rank
        self._heard = {other: time.monotonic() for other in range(world) if other != rank}
        self._beats: dict[int, bytes] = {}
        self._ended = threading.Event()
        self._left = threading.Event()  # once nothing more is asked of the board
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        ending: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        exit_without_waiting(lambda: not self._left.is_set(), exit_code_of(ending))
        self._left.wait(timeout=GRACE)  # longer where the board does not answer

    def silent(self) -> list[int]:
        """The workers whose last heartbeat is older than the patience."""
        now = time.monotonic()
        return [rank for rank, heard in self._heard.items() if now - heard > self.patience]

    def _run(self) -> None:
        beat = 0
        with suppress(RuntimeError):  # without the store, all others count as silent
            while not self._ended.wait(min(5.0, self.patience / 8)):
                beat += 1
                self._board.set(f"beat/{self._rank}", str(beat))
                for other in self._heard:
                    self._listen(other)
        self._left.set()

    def _listen(self, other: int) -> None:
        if self._board.check([f"beat/{other}"]):
            beat = self._board.get(f"beat/{other}")
            if beat != self._beats.get(other):
                self._beats[other], self._heard[other] = beat, time.monotonic()


class ReducedLoss(NamedTuple):
    """What all workers share after an update's all-reduce."""

    loss: float
    stop: bool  # whether any worker was asked to stop
    ended: bool = False  # whether rank 0 ends training before this update
    scale: float = 1.0  # of the learning rate, from rank 0


@dataclass(frozen=True)
class Ranks:
    """This worker's rank, the number of workers, and whether this one was asked to stop."""

    rank: int = 0
    world: int = 1
    should_stop: Callable[[], bool] | None = None
    heartbeat: Heartbeat | None = None
    connections: PeerConnections | None = None

    def broadcast(self, values: Shaped[Tensor, "N"]) -> Shaped[Tensor, "N"]:
        """Broadcast rank 0's values, in place."""
        content, others = bytes_of(values), range(1, self.world)
        if self.rank:
            self._transfer({}, {0: content})
        elif self.world > 1:
            self._transfer(dict.fromkeys(others, content), {})
        return values

    @property
    def stop_requested(self) -> bool:
        """Whether this worker was asked to stop."""
        return self.should_stop is not None and self.should_stop()

    def sum_gradients(self, model: nn.Module, own: ReducedLoss) -> ReducedLoss:
        """Replace gradients by their sums over all workers, and sum the losses.

        A single message carries all of it, with rank 0's decisions on the update, however many
        batches were accumulated.
        """
        learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
        said = own if self.rank == 0 else own._replace(ended=False, scale=0.0)
        words = learning[0].new_tensor(said)
        flat = torch.cat([*(_gradient(each).flatten() for each in learning), words])
        self.sum(flat)
        *sums, words = flat.split([*(each.numel() for each in learning), len(words)])
        for parameter, total in zip(learning, sums, strict=True):
            parameter.grad = total.view_as(parameter)
        loss, stop, ended, scale = words.tolist()
        return ReducedLoss(loss, bool(stop), bool(ended), scale)

    def sum(self, values: Tensor) -> Tensor:
        """Sum values over all workers, in place and in the order of the ranks."""
        if self.world > 1 and values.is_cuda:
            with worker_errors():
                distributed.all_reduce(values)
        elif self.world > 1:
            flat = values.flatten()  # without a copy if they are contiguous
            transfer = self._transfer
            sum_in_rank_order(flat, rank=self.rank, world=self.world, transfer=transfer)
            if flat.data_ptr() != values.data_ptr():
                values.copy_(flat.view_as(values))
        return values

    def _transfer(
        self, outgoing: Mapping[int, memoryview], incoming: Mapping[int, memoryview]
    ) -> None:
        """Send to and receive from other ranks.

        PeerLostError if a worker is gone; PeerSilentError if one is silent, or does not answer
        after this one was asked to stop.
        """
        if self.connections is None:
            raise PeerLostError
        asked = 0.0

        def check() -> None:
            nonlocal asked
            self.check_heartbeats()
            asked = asked or (time.monotonic() if self.stop_requested else 0.0)
            if asked and time.monotonic() - asked > GRACE:
                raise PeerSilentError("other workers do not answer")

        self.connections.transfer(outgoing, incoming, check)

    def check_heartbeats(self) -> None:
        """PeerSilentError if another worker gives no sign of life."""
        heartbeat = self.heartbeat
        silent = heartbeat.silent() if heartbeat is not None else []
        if heartbeat is not None and silent:
            raise PeerSilentError(
                f"rank {silent[0]} has given no sign of life for {heartbeat.patience:g} seconds"
            )

    def check_joining(self) -> None:
        """As `check_heartbeats`; Interrupted if this worker was asked to stop."""
        if self.stop_requested:
            raise Interrupted(
                "stopped before an update was made", remedy="the same command goes on"
            )
        self.check_heartbeats()


SINGLE_PROCESS = Ranks()


@contextmanager
def process_group(
    place: str, rank: int, world: int, *, asked: Callable[[], bool] | None = None
) -> Iterator[Ranks]:
    """Join the other workers at a rendezvous of torch.distributed: a file, or `env://`.

    Connections between the workers carry all tensors, but NCCL the gradients on GPUs. Interrupted,
    if this worker is asked to stop before all have joined.
    """
    me, ranks = Member(rank, world), Ranks(rank, world, asked)
    with ExitStack() as stack:
        with worker_errors():
            board, _, _ = next(rendezvous(place, rank, world, timeout=TIMEOUT))
            attempt = PrefixStore(agree_on_name(board, me, ranks.check_joining), board)
            ranks = replace(ranks, heartbeat=stack.enter_context(Heartbeat(board, rank, world)))
            joined = connect_ranks(attempt, me, place, ranks.check_joining)
            ranks = replace(ranks, connections=stack.enter_context(joined))
            if torch.cuda.is_available():
                distributed.init_process_group(
                    "nccl", store=attempt, rank=rank, world_size=world, timeout=TIMEOUT
                )
                stack.callback(distributed.destroy_process_group)
        yield ranks


def _gradient(parameter: nn.Parameter) -> Tensor:
    """A parameter's gradient; zero if this worker's share gave none."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
