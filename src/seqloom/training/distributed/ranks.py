"""Data-parallel workers: one process per core, on one machine or several.

Every worker computes gradients for its share of the batch, the gradients are summed, and each
worker makes the same update on its own copy of the model. With a single process all of this is a
no-op.

Waiting is done in short slices, so that signals are handled meanwhile. Each worker writes
heartbeats to the key-value store of the rendezvous; one whose heartbeat stops is given up.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from secrets import token_hex
from types import TracebackType
from typing import Any, NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor, distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seqloom.errors import ConfigError, Interrupted, RunError
from seqloom.parallel import exit_code_of, exit_without_waiting

__all__ = ["SINGLE_PROCESS", "PeerLostError", "Ranks", "ReducedLoss", "process_group"]

TIMEOUT = timedelta(hours=12)  # how long workers wait while rank 0 validates and saves
SLICE = timedelta(seconds=0.2)  # of waiting, between which signals are handled
PEER_TIMEOUT = "SEQLOOM_PEER_TIMEOUT"  # environment variable: seconds without a heartbeat
PATIENCE = 120.0  # its default
SENT_AT_ONCE = 1 << 21  # largest message in bytes sent all-to-all rather than around a ring
GRACE = 5.0  # seconds for pending communication when this worker is asked to stop


class PeerLostError(RunError):
    """Another worker has ended, hangs or cannot be reached; the weights are those of the last
    complete update.
    """


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
        self.broken = (
            False  # whether a worker was given up, after which no communication is possible
        )
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

    def broadcast(self, values: Shaped[Tensor, "N"]) -> Shaped[Tensor, "N"]:
        """Broadcast rank 0's values, in place."""
        if self.world > 1:
            self._communicate(values, partial(distributed.broadcast, src=0))
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
        """Sum values over all workers, in place.

        Small tensors go from each worker to every other, in two round trips; large ones go around a
        ring, in several round trips, sending each number about twice.
        """
        small = not values.is_cuda and (self.world - 1) * values.nbytes <= SENT_AT_ONCE
        if self.world > 1 and small:
            mine = values.flatten().repeat(self.world)
            given = torch.empty_like(mine)
            self._communicate(given, partial(distributed.all_to_all_single, input=mine))
            values.copy_(given.view(self.world, *values.shape).sum(0))
        elif self.world > 1:
            self._communicate(values, distributed.all_reduce)
        return values

    def _communicate(self, values: Tensor, collective: Callable[..., Any]) -> None:
        """Wait until a collective operation is complete.

        PeerLostError if a worker is gone or silent, or does not answer after this one was asked to
        stop.
        """
        heartbeat = self.heartbeat
        if heartbeat is not None and heartbeat.broken:
            raise _lost("a worker was lost")
        with _worker_errors():
            work = collective(values, async_op=True)
            if values.is_cuda:  # NCCL has no timed wait
                work.wait()
                return
        asked = 0.0
        while not _finish(work):
            if heartbeat is None:
                continue
            now = time.monotonic()
            asked = asked or (now if self.stop_requested else 0.0)
            silent = heartbeat.silent()
            if silent or (asked and now - asked > GRACE):
                heartbeat.broken = True
                _abandon(work, Interrupted.exit_code if asked else RunError.exit_code)
                if not silent:
                    raise _lost("other workers do not answer")
                raise _lost(
                    f"rank {silent[0]} has given no sign of life for {heartbeat.patience:g} seconds"
                )


SINGLE_PROCESS = Ranks()


@contextmanager
def process_group(
    place: str, rank: int, world: int, *, asked: Callable[[], bool] | None = None
) -> Iterator[Ranks]:
    """Join the other workers at a rendezvous of torch.distributed: a file, or `env://`.

    Gloo carries all tensors, but NCCL the gradients on GPUs. Interrupted, if this worker is asked
    to stop before all have joined.
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
        with Heartbeat(board, rank, world) as heartbeat:
            yield Ranks(rank, world, asked, heartbeat)
    finally:
        distributed.destroy_process_group()


def _finish(work: Any) -> bool:
    """Wait briefly; return whether the work is done."""
    with _worker_errors():
        try:
            work.wait(SLICE)
        except RuntimeError as error:
            if "Operation timed out" in str(error):
                return False
            raise
    return True


def _abandon(work: Any, exit_code: int) -> None:
    """Abort pending work; a thread of torch that waits for it would keep the process alive."""
    group = distributed.group.WORLD
    exit_without_waiting(lambda: group is not None and not work.is_completed(), exit_code)


def _agree_on_name(board: Store, ranks: Ranks) -> str:
    """Agree on a name for this attempt that no earlier attempt has used.

    torchrun's store keeps the keys of a dead attempt, addresses included, and its restart count
    differs between machines. So each other worker writes a random word, and rank 0 answers every
    word it sees until all have found their answer.
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
            if ranks.stop_requested:
                raise Interrupted(
                    "stopped before an update was made", remedy="the same command goes on"
                )
            time.sleep(0.02)


def _gradient(parameter: nn.Parameter) -> Tensor:
    """A parameter's gradient; zero if this worker's share gave none."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


@contextmanager
def _worker_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise _lost("a worker was lost") from error


def _lost(problem: str) -> PeerLostError:
    return PeerLostError(problem, remedy="give the same command again to go on")
