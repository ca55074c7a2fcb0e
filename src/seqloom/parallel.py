"""Work on blocks of data in several processes, with results in order.

Processes are forked, so that they share what the first one has learnt. A block that one of them
cannot handle, or dies of, is done again here: what is wrong with it is then raised here too.
"""

import atexit
import ctypes
import gc
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from seqloom.errors import Interrupted, RunError, SeqloomError

__all__ = [
    "BlockJob",
    "BlockResults",
    "core_count",
    "exit_code_of",
    "exit_without_waiting",
    "is_torch_loaded",
    "return_memory",
    "take",
    "thread_count",
    "use_one_thread",
]

Item = TypeVar("Item")
LEAST_BLOCKS = 3  # that are worth further processes
FAILED = "failed"
THREADS = "OMP_NUM_THREADS"  # which torch reads when it is loaded


class BlockJob(Protocol):
    """What is done to each block, and what is left when all of them are done."""

    def process(self, block: Any) -> Any:
        """The result of one block."""

    def finish(self) -> Any:
        """What this process has gathered over all its blocks."""


def core_count() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def exit_without_waiting(is_busy: Callable[[], bool], exit_code: int) -> None:
    """At its end, have this process exit at once if a thread is still busy in compiled code.

    Python unwinds such a thread as it comes back, for which C++ aborts the process.
    """

    def end() -> None:
        if is_busy():
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(exit_code)

    atexit.register(end)


def exit_code_of(ending: BaseException | None) -> int:
    """The exit code of a process that this exception ends, or that ends by itself."""
    match ending:
        case None:
            return 0
        case SeqloomError():
            return ending.exit_code
        case SystemExit():
            return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        case KeyboardInterrupt():
            return Interrupted.exit_code
    return 1


def is_torch_loaded() -> bool:
    """Whether this process has torch in its memory."""
    return sys.modules.get("torch") is not None


def thread_count() -> int:
    """Threads that a computation may use: as many as torch may; where torch is not loaded, as many
    as it would."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    told = os.environ.get(THREADS, "")
    return max(1, int(told)) if told.isdecimal() else core_count()


def use_one_thread() -> None:
    """Let torch use one thread in this process, now or when it is loaded."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    else:
        os.environ[THREADS] = "1"


def return_memory() -> None:
    """Give the system back what this process has freed, where its C library can be asked to."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


class BlockResults(Iterator[Any]):
    """The result of each block in order; after the last, what each process has gathered."""

    def __init__(
        self, job: BlockJob, blocks: Iterable[Any], *, processes: int | None = None
    ) -> None:
        self.gathered: list[Any] = []
        self._results = self._process(job, iter(blocks), processes or core_count())

    def __next__(self) -> Any:
        return next(self._results)

    def _process(self, job: BlockJob, stream: Iterator[Any], count: int) -> Iterator[Any]:
        first, error = take(stream, LEAST_BLOCKS)
        if count < 2 or len(first) < LEAST_BLOCKS or sys.platform != "linux":
            for block in first:
                yield job.process(block)
            if error is not None:
                raise error
            for block in stream:
                yield job.process(block)
        else:
            workers = _fork_workers(job, count)
            try:
                self.gathered += yield from _share_out(job, workers, first, stream)
            finally:
                for worker in workers:
                    worker.end()
        self.gathered.append(job.finish())


def take(stream: Iterator[Item], most: int) -> tuple[list[Item], Exception | None]:
    """The next items, and what was raised in place of one more."""
    taken: list[Item] = []
    try:
        while len(taken) < most:
            taken.append(next(stream))
    except StopIteration:
        return taken, None
    except Exception as error:
        return taken, error
    return taken, None


class _Worker:
    """A process that does one block at a time."""

    def __init__(self, connection: Connection, process: int) -> None:
        self._connection = connection
        self._process = process

    def send(self, block: Any) -> None:
        """Hand a block over, or None after the last; that it is gone, `receive` will tell."""
        with suppress(OSError):
            self._connection.send(block)

    def receive(self) -> Any:
        """Its result; FAILED where it has none."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return FAILED

    def end(self) -> None:
        """Let it go, whatever it is doing, and wait until it has gone."""
        self._connection.close()
        with suppress(OSError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)


def _fork_workers(job: BlockJob, count: int) -> list[_Worker]:
    workers: list[_Worker] = []
    connections: list[Connection] = []
    for _ in range(count):
        mine, theirs = Pipe()
        with warnings.catch_warnings():  # of threads: a worker uses nothing that they share
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if not process:
            try:
                for each in (*connections, mine):
                    each.close()
                _serve(job, theirs)
            finally:
                os._exit(0)
        theirs.close()
        connections.append(mine)
        workers.append(_Worker(mine, process))
    return workers


def _serve(job: BlockJob, connection: Connection) -> None:
    """Do blocks until there are no more, or the first process is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while (block := connection.recv()) is not None:
            try:
                result = job.process(block)
            except Exception:
                result = FAILED
            connection.send(result)
        connection.send(job.finish())


def _share_out(
    job: BlockJob,
    workers: list[_Worker],
    first: list[Any],
    stream: Iterator[Any],
) -> Generator[Any, None, list[Any]]:
    """Results in order; each worker has one block, and the next is read while it works."""
    waiting: deque[Any] = deque(first)
    doing: deque[tuple[_Worker, Any]] = deque()
    free = deque(workers)
    error: Exception | None = None
    while waiting or doing:
        while free and waiting:
            worker, block = free.popleft(), waiting.popleft()
            worker.send(block)
            doing.append((worker, block))
        if not waiting and error is None:
            more, error = take(stream, 1)
            waiting.extend(more)
            if free and waiting:
                continue
        worker, block = doing.popleft()
        result = worker.receive()
        free.append(worker)
        if isinstance(result, str) and result == FAILED:
            result = job.process(block)
        if waiting:
            worker.send(waiting[0])
            doing.append((free.pop(), waiting.popleft()))
        yield result
    if error is not None:
        raise error
    for worker in workers:
        worker.send(None)
    found = [worker.receive() for worker in workers]
    if any(isinstance(each, str) for each in found):
        raise RunError(
            "a process that reads the data has ended before its time",
            remedy="check that there is memory enough and start again",
        )
    return found
