"""Batches decoded in processes of their own, so that no two workers share an interpreter.

A template is forked before the server has threads, and processes from it, so that their models are
the server's, in the same memory. A worker of the server hands its process inputs, and waits while
that makes a step.
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from seqloom.errors import SeqloomError
from seqloom.parallel import use_one_thread
from seqloom.prediction.output import Output
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import PendingInput
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.prediction.whole_search import WholeBatch
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.jobs import RenderedOutput

if TYPE_CHECKING:
    from seqloom.search import StableToken

__all__ = [
    "Decoding",
    "Loader",
    "Process",
    "ProcessTemplate",
    "RemoteDecoding",
    "fork_template",
    "start_decoding",
]

LONGEST_END = 10.0  # seconds that the end of a process is waited for

Tag = TypeVar("Tag", bound=Hashable)


class Decoding(Protocol[Tag]):
    """Inputs on the way to their outputs, here or in another process."""

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
    """A batch to which inputs are added: each searched for as a whole, or all step by step."""
    if whole:
        return WholeBatch(model)
    from seqloom.prediction.batching import ContinuousBatch

    return ContinuousBatch(model)


Loader = Callable[[], Predictor]
"""Loads a model as it is stored now."""


def fork_template(
    models: Mapping[str, Predictor], number: int, loaders: Mapping[str, Loader] | None = None
) -> "ProcessTemplate | None":
    """What makes processes; None for one core, for nothing to decode, after the first thread, or
    where the system cannot fork (Windows) or its libraries may not survive it (macOS)."""
    writers = {
        name: writer
        for name, model in models.items()
        if (writer := model.as_text_predictor()) is not None
    }
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    if number < 2 or not writers or not forks or threading.active_count() > 1:
        return None
    return ProcessTemplate(writers, loaders)


class ProcessTemplate:
    """A process with models and no threads, of which others are copies that share its memory.

    It is forked before the server has threads, so that there can be new copies at any time. The
    system clears away whichever of them ends.
    """

    def __init__(
        self, models: Mapping[str, TextPredictor], loaders: Mapping[str, Loader] | None = None
    ) -> None:
        context: Any = get_context("fork")
        self._connection, theirs = context.Pipe()
        own = TemplateModels(dict(models), loaders or {})
        self._child = context.Process(
            target=_serve_forks, args=(theirs, self._connection, own), daemon=True
        )
        self._child.start()
        theirs.close()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Its number among the processes of the machine."""
        return self._child.pid or 0

    def fork(self) -> "Process":
        """A new process; ProcessLost where the template is gone."""
        context: Any = get_context("fork")
        mine, theirs = context.Pipe()
        try:
            with self._lock, theirs:
                self._connection.send(None)
                send_handle(self._connection, theirs.fileno(), self.pid)
                number: int = self._connection.recv()
        except (EOFError, OSError):
            mine.close()
            raise ProcessLost("the process that makes others has ended before its time") from None
        return Process(mine, number)

    def load(self, name: str) -> None:
        """Load a model anew, which copies made from now on have; the error where that fails."""
        try:
            with self._lock:
                self._connection.send(name)
                error: SeqloomError | None = self._connection.recv()
        except (EOFError, OSError):
            raise ProcessLost("the process that makes others has ended before its time") from None
        if error is not None:
            raise error

    def close(self) -> None:
        """Let it end, and wait until it has; its copies end by themselves."""
        self._connection.close()
        self._child.join()


class TemplateModels(NamedTuple):
    """The models of a template, and how each is loaded anew."""

    models: dict[str, TextPredictor]
    loaders: Mapping[str, Loader]

    def load(self, name: str) -> SeqloomError | None:
        """Load a model anew; the error where the old one stays."""
        try:
            model = self.loaders[name]().as_text_predictor()
        except SeqloomError as error:
            return error
        except Exception as error:
            return SeqloomError(f"the model cannot be loaded: {type(error).__name__}")
        if model is not None:
            self.models[name] = model
        return None


class Process:
    """A process with models, at the disposal of one worker. It ends with the server."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._connection = connection
        self.pid = pid  # its number among the processes of the machine
        self.numbers = count()
        self.generation = 0  # of its models
        self._begun = False

    @property
    def has_ended(self) -> bool:
        """Whether it is gone; to be asked while it is idle."""
        try:
            return self._begun and self._connection.poll()
        except OSError:
            return True

    def wait_until_ready(self) -> None:
        """Wait until it has tried its models; Lost where it is gone."""
        if not self._begun:
            self._receive()
            self._begun = True

    def call(self, *words: Any) -> Any:
        """What it answers; an error of its own is raised here, Lost where it is gone."""
        self.wait_until_ready()
        with suppress(OSError):  # that it is gone will be heard
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
        """Let it end, and wait until it has."""
        self._connection.close()
        end = time.monotonic() + LONGEST_END
        while _exists(self.pid) and time.monotonic() < end:
            time.sleep(0.002)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


class RemoteDecoding(Generic[Tag]):
    """Inputs that are decoded in another process."""

    def __init__(self, process: Process, model: str, *, whole: bool = False) -> None:
        self.process = process
        self._model = model
        self._whole = whole
        self._number = next(process.numbers)
        self._tags: dict[int, Tag] = {}
        self._unsent: list[PendingInput[int]] = []  # that will be searched for as a whole

    @property
    def tags(self) -> list[Tag]:
        """Whatever is not done."""
        return list(self._tags.values())

    @property
    def done(self) -> bool:
        """Whether no input is left."""
        return not self._tags

    def add(self, newcomers: Sequence[PendingInput[Tag]]) -> dict[Tag, RenderedOutput]:
        """Make the first step of these inputs and let them join; some may be done at once."""
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
        """One step of every input, and the outputs of those that are done by it."""
        if self._whole:
            sent, self._unsent = self._unsent, []
            return self._resolve_tags(self.process.call("search", self._number, self._model, sent))
        return self._resolve_tags(self.process.call("advance", self._number))

    def cancel(self, tags: set[Tag]) -> None:
        """Go on without these inputs; that the process is lost, the next step will tell."""
        numbers = {number for number, tag in self._tags.items() if tag in tags}
        if self._whole:
            self._unsent = [each for each in self._unsent if each.tag not in numbers]
        else:
            with suppress(ProcessLost):
                self.process.call("give_up", self._number, numbers)
        for number in numbers:
            del self._tags[number]

    def stable_tokens(self, tag: Tag, known: int) -> "list[StableToken]":
        """The tokens after the first `known` that the output for an input will have for certain."""
        number = next(number for number, each in self._tags.items() if each == tag)
        found: list[StableToken] = []
        with suppress(ProcessLost):
            found = self.process.call("certain", self._number, number, known)
        return found

    def _resolve_tags(self, outputs: dict[int, RenderedOutput]) -> dict[Tag, RenderedOutput]:
        return {self._tags.pop(number): output for number, output in outputs.items()}


class ProcessBatches:
    """What a process is asked for, by the numbers of its batches."""

    def __init__(self, models: Mapping[str, TextPredictor]) -> None:
        self._models = models
        self._running: dict[int, Decoding[int]] = {}

    def handle(self, word: str, number: int, *rest: Any) -> Any:
        """What becomes of a batch, which is gone after an error; or of work on a model."""
        if word == "work":
            model, work = rest
            return work(self._models[model])
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
        """The outputs of inputs that are searched for as a whole."""
        whole = WholeBatch[int](self._models[model])
        whole.add(inputs)
        return _render(whole.advance())


def _render(outputs: Mapping[int, Output | RenderedOutput]) -> dict[int, RenderedOutput]:
    """The outputs as they are sent, which are made here so that the server need not."""
    return {number: RenderedOutput.of(each) for number, each in outputs.items()}


def _serve_forks(connection: Connection, other: Connection, own: TemplateModels) -> None:
    """Make a copy of this process for each word that names no model to be loaded, until the server
    is gone."""
    if sys.platform == "win32":  # which has no fork
        return
    other.close()
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(kind, signal.SIG_IGN)
    use_one_thread()
    gc.freeze()  # so that collections of its copies leave the memory shared
    while True:
        try:
            word = connection.recv()
            if word in own.loaders:
                connection.send(own.load(word))
                continue
            pipe = Connection(recv_handle(connection))
        except (EOFError, OSError):
            return
        number = os.fork()
        if not number:
            connection.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _serve_commands(pipe, own.models)
            finally:
                os._exit(0)
        pipe.close()
        connection.send(number)


def _serve_commands(connection: Connection, models: Mapping[str, TextPredictor]) -> None:
    """Answer until the server is gone; signals to stop are its own affair."""
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
        except Exception as error:  # whatever a model raises is for the server to deal with
            answer = False, RuntimeError(f"{type(error).__name__}: {error}")
        connection.send(answer)
