"""Ranks that a launcher such as torchrun has started: the first leads, the others follow it.

The first rank prepares the data, validates, saves and speaks. The others wait until it is ready,
read the run directory, compute their share of each update and say nothing of their own.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress

from seqloom.errors import RunError, SeqloomError
from seqloom.runs.learner import Learner
from seqloom.runs.signals import StopRequest
from seqloom.runs.torchrun_environment import TorchrunEnvironment
from seqloom.store import RunDirectory
from seqloom.training import SINGLE_PROCESS, Ranks, process_group

__all__ = ["READY", "follow", "join_ranks", "lead"]

READY = -1.0  # the first rank's word that there are updates to make; otherwise its exit code


@contextmanager
def join_ranks(place: TorchrunEnvironment | None, stop: StopRequest) -> Iterator[Ranks | None]:
    """Meet the other ranks of a launcher; None without one, and then workers may be started."""
    if place is None:
        yield None
    elif place.world == 1:
        yield SINGLE_PROCESS
    else:
        gathered = process_group("env://", place.rank, place.world, asked=lambda: stop.asked)
        with ExitStack() as stack:
            with _exit_quietly() if place.rank else nullcontext():
                ranks = stack.enter_context(gathered)
            yield ranks


@contextmanager
def lead(ranks: Ranks | None) -> Iterator[None]:
    """Tell the other ranks, when the block is over, with what exit code it ended."""
    code = SeqloomError.exit_code
    try:
        yield
        code = 0
    except SeqloomError as error:
        code = error.exit_code
        raise
    finally:
        if ranks is not None:
            with suppress(RunError):
                ranks.broadcast(code)


def follow(directory: RunDirectory, ranks: Ranks) -> None:
    """Be one of the other ranks until the first has ended; SystemExit with its code, if not 0.

    An error that the first rank has too is left to it to tell; that this rank cannot read the run
    directory is not.
    """
    with _exit_quietly():
        word = ranks.broadcast(0.0)
    if word == READY:
        learner = Learner.open(directory)
        with _exit_quietly():
            for _ in learner.updates(ranks):
                pass
            word = ranks.broadcast(0.0)
    if word:
        raise SystemExit(int(word))


@contextmanager
def _exit_quietly() -> Iterator[None]:
    """End without a word: whatever it is, the first rank knows of it or is gone."""
    try:
        yield
    except SeqloomError as error:
        raise SystemExit(error.exit_code) from error
