"""Ranks started by a launcher such as torchrun: the first leads, the others follow.

The first rank prepares the data, validates, saves and prints. The others wait until it is ready,
read the run directory, compute their share of each update and print nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import NamedTuple

import torch

from seqloom.errors import RunError, SeqloomError
from seqloom.runs.learner import Learner
from seqloom.runs.process import StopRequest, TorchrunEnvironment
from seqloom.training import SINGLE_PROCESS, Ranks, process_group

__all__ = ["LeaderMessage", "follow", "join_ranks", "lead"]


class LeaderMessage(NamedTuple):
    """A message of the first rank to the others: updates begin, or its exit code."""

    updates_begin: bool = False
    exit_code: int = 0

    def send(self, ranks: Ranks) -> None:
        """Send the message to the other ranks, which wait in `receive`."""
        ranks.broadcast(torch.tensor([int(self.updates_begin), self.exit_code]))

    @classmethod
    def receive(cls, ranks: Ranks) -> "LeaderMessage":
        """Wait for a message of the first rank."""
        begin, code = ranks.broadcast(torch.zeros(2, dtype=torch.int64)).tolist()
        return cls(bool(begin), code)


@contextmanager
def join_ranks(place: TorchrunEnvironment, stop: StopRequest) -> Iterator[Ranks]:
    """Connect to the launcher's other ranks."""
    if place.world == 1:
        yield SINGLE_PROCESS
    else:
        gathered = process_group("env://", place.rank, place.world, asked=lambda: stop.asked)
        with ExitStack() as stack:
            with _exit_quietly() if place.rank else nullcontext():
                ranks = stack.enter_context(gathered)
            yield ranks


@contextmanager
def lead(ranks: Ranks) -> Iterator[None]:
    """Send the exit code of the block to the other ranks."""
    code = SeqloomError.exit_code
    try:
        yield
        code = 0
    except SeqloomError as error:
        code = error.exit_code
        raise
    finally:
        with suppress(RunError):
            LeaderMessage(exit_code=code).send(ranks)


def follow(open_learner: Callable[[], Learner], ranks: Ranks) -> None:
    """Run as another rank until the first has ended; SystemExit with its code, if not 0.

    The learner is opened once the first rank has prepared the run directory.

    Errors common to all ranks are reported by the first alone; a failure to read the run directory
    is reported by this rank.
    """
    with _exit_quietly():
        message = LeaderMessage.receive(ranks)
    if message.updates_begin:
        learner = open_learner()
        with _exit_quietly():
            for _ in learner.updates(ranks):
                pass
            message = LeaderMessage.receive(ranks)
    if message.exit_code:
        raise SystemExit(message.exit_code)


@contextmanager
def _exit_quietly() -> Iterator[None]:
    """End silently: the first rank knows of any error, or is gone."""
    try:
        yield
    except SeqloomError as error:
        raise SystemExit(error.exit_code) from error
