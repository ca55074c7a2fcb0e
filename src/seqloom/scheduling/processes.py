"""Decoding in processes, so that no two workers share an interpreter.

Processes are forked from a template (templates.py). A worker of the server sends inputs to its
process, and waits while it makes a step.
"""

import os
import sys
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from seqloom.errors import SeqloomError
from seqloom.parallel import use_one_thread
from seqloom.prediction.output import Output
from seqloom.prediction.request import PendingInput
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.prediction.whole_search import WholeBatch
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.jobs import RenderedOutput

if TYPE_CHECKING:
    from seqloom.search import StableToken

__all__ = [
    "LONGEST_END",
    "Decoding",
    "Process",
    "RemoteDecoding",
    "serve_commands",
    "start_decoding",
    "wait_for_end",
]

LONGEST_END = 10.0  # timeout for the end of a process

Tag = TypeVar("Tag", bound=Hashable)


class Decoding(Protocol[Tag]):
    """A batch being decoded, here or in another process."""

    @property
    def tags(self) -> list[Tag]: ...

    @property
    def done(self) -> bool: ...

    def add(
        self, newcomers: Sequence[PendingInput[Tag]]
    ) -> Mapping[Tag, Output | RenderedOutput]: ...

    def advance(self) -> Mapping[Tag, Output | RenderedOutput]: ...

    def cancel(self, tags: set[Tag]) -> None: ...

    def stable_tokens(self, tag: Tag, known: int) -> "list[StableToken]": ...


def start_decoding(model: TextPredictor, *, whole: bool) -> "Decoding[Any]":
    """Start a batch that accepts inputs: each searched in one go, or all step by step."""
    if whole:
        return WholeBatch(model)
    from seqloom.prediction.batching import ContinuousBatch

    return ContinuousBatch(model)


class Process:
    """A process with models that serves one worker. It ends with the server."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._connection = connection
        self.pid = pid  # process id
        self.numbers = count()
        self._begun = False

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended; only to be called while it is idle."""
        try:
            return self._begun and self._connection.poll()
        except OSError:
            return True

    def wait_until_ready(self) -> None:
        """Wait until it has tried its models; Lost if it has ended."""
        if not self._begun:
            self._receive()
            self._begun = True

    def call(self, *words: Any) -> Any:
        """Receive its answer; raise its error, or Lost if it has ended."""
        self.wait_until_ready()
        with suppress(OSError):  # the next receive reports its end
            self._connection.send(words)
        fine, answer = self._receive()
        if not fine:
            raise answer
        return answer

    def _receive(self) -> tuple[bool, Any]:
        try:
            answer: tuple[bool, Any] = self._connection.recv()
        except (EOFError, OSError):
            self._connection.close()
            raise ProcessLost("a process of the server has ended before its time") from None
        return answer

    def close(self) -> None:
        """Shut it down and wait for its end."""
        self._connection.close()
        wait_for_end(self.pid)


def wait_for_end(process: int) -> None:
    """Wait for the end of a process, with a timeout."""
    end = time.monotonic() + LONGEST_END
    while _exists(process) and time.monotonic() < end:
        time.sleep(0.002)


def _exists(process: int) -> bool:
    """Whether a process is running. Process 1 of a container inherits those whose template has
    ended; they are reaped here.
    """
    try:
        if sys.platform != "win32":
            with suppress(ChildProcessError):  # the child of a template
                os.waitpid(process, os.WNOHANG)
        os.kill(process, 0)
    except OSError:
        return False
    return True


class RemoteDecoding(Generic[Tag]):
    """A batch decoded in another process."""

    def __init__(self, process: Process, model: str, *, whole: bool = False) -> None:
        self.process = process
        self._model = model
        self._whole = whole
        self._number = next(process.numbers)
        self._tags: dict[int, Tag] = {}
        self._unsent: list[PendingInput[int]] = []  # inputs to search in one go

    @property
    def tags(self) -> list[Tag]:
        """The tags of unfinished inputs."""
        return list(self._tags.values())

    @property
    def done(self) -> bool:
        """Whether all inputs are finished."""
        return not self._tags

    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, RenderedOutput]:
        """Add inputs and make their first step; return outputs that are complete."""
        added = [
            PendingInput(next(self.process.numbers), each.encoded, each.line, each.request)
            for each in newcomers
        ]
        self._tags |= {mine.tag: each.tag for mine, each in zip(added, newcomers, strict=True)}
        if self._whole:
            self._unsent += added
            return {}
        return self._resolve_tags(self.process.call("add", self._number, self._model, added))

    def advance(self) -> dict[Tag, RenderedOutput]:
        """Make one step of every input; return outputs completed by it."""
        if self._whole:
            sent, self._unsent = self._unsent, []
            return self._resolve_tags(self.process.call("search", self._number, self._model, sent))
        return self._resolve_tags(self.process.call("advance", self._number))

    def cancel(self, tags: set[Tag]) -> None:
        """Cancel inputs; a lost process is reported by the next step."""
        numbers = {number for number, tag in self._tags.items() if tag in tags}
        if self._whole:
            self._unsent = [each for each in self._unsent if each.tag not in numbers]
        else:
            with suppress(ProcessLost):
                self.process.call("give_up", self._number, numbers)
        for number in numbers:
            del self._tags[number]

    def stable_tokens(self, tag: Tag, known: int) -> "list[StableToken]":
        """The tokens after the first `known` that are certain to be in the output."""
        number = next(number for number, each in self._tags.items() if each == tag)
        found: list[StableToken] = []
        with suppress(ProcessLost):
            found = self.process.call("certain", self._number, number, known)
        return found

    def _resolve_tags(self, outputs: dict[int, RenderedOutput]) -> dict[Tag, RenderedOutput]:
        return {self._tags.pop(number): output for number, output in outputs.items()}


class ProcessBatches:
    """The batches of a process, by number."""

    def __init__(self, models: Mapping[str, TextPredictor]) -> None:
        self._models = models
        self._running: dict[int, Decoding[int]] = {}

    def handle(self, word: str, number: int, *rest: Any) -> Any:
        """Handle a command on a batch, which is removed after an error, or work on a model."""
        if word == "work":
            model, work = rest
            return work(self._models[model])
        if word == "run":
            return rest[0]()
        running = self._running.pop(number, None)
        if word == "search":
            return self._search(*rest)
        if word == "add":
            model, newcomers = rest
            if running is None:
                running = start_decoding(self._models[model], whole=False)
            answer: Any = _render(running.add(newcomers))
        elif running is None:
            raise ProcessLost("there is no such batch")
        elif word == "advance":
            answer = _render(running.advance())
        elif word == "give_up":
            answer = None
            running.cancel(*rest)
        else:
            answer = running.stable_tokens(*rest)
        if not running.done:
            self._running[number] = running
        return answer

    def _search(self, model: str, inputs: Sequence[PendingInput[int]]) -> dict[int, RenderedOutput]:
        """Search each input in one go."""
        whole = WholeBatch[int](self._models[model])
        whole.add(inputs)
        return _render(whole.advance())


def _render(outputs: Mapping[int, Output | RenderedOutput]) -> dict[int, RenderedOutput]:
    """Render outputs here, to relieve the server."""
    return {number: RenderedOutput.of(each) for number, each in outputs.items()}


def serve_commands(connection: Connection, models: Mapping[str, TextPredictor]) -> None:
    """Serve commands until the server ends; it alone handles stop signals."""
    use_one_thread()
    for model in models.values():
        model.warm_up()
    connection.send((True, None))
    batches = ProcessBatches(models)
    while True:
        try:
            words = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = True, batches.handle(*words)
        except SeqloomError as error:
            answer = False, error
        except Exception as error:  # the server handles any error of a model
            answer = False, RuntimeError(f"{type(error).__name__}: {error}")
        connection.send(answer)
