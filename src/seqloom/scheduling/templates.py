"""Template processes from which others are forked, so that all share the models' memory.

The first template is forked before the server has threads, with its initial models. A model that is
loaded later, or reloaded, has its own template, forked from the first.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, Literal, NamedTuple, Self

from seqloom.errors import SeqloomError
from seqloom.parallel import is_torch_loaded, return_memory, use_one_thread
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.processes import Process, serve_commands, wait_for_end

__all__ = ["Loader", "ProcessTemplate", "can_fork", "fork_template"]

Loader = Callable[[], Predictor]
"""Loads a model as it is stored now."""
Word = tuple[Literal["copy", "load", "forget"], str]


def can_fork() -> bool:
    """Whether templates are possible: not where the system cannot fork (Windows), where its
    libraries may not survive it (macOS), or after the first thread.
    """
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    return forks and threading.active_count() == 1


def fork_template(
    models: Mapping[str, Predictor], number: int, loaders: Mapping[str, Loader] | None = None
) -> "ProcessTemplate | None":
    """Fork a template; None for one core, without models to decode, or where forking is
    impossible.
    """
    writers = {
        name: writer
        for name, model in models.items()
        if (writer := model.as_text_predictor()) is not None
    }
    if number < 2 or not writers or not can_fork():
        return None
    return_memory()
    return ProcessTemplate(writers, loaders)


class ProcessTemplate:
    """A process with models and without threads; its forks share its memory.

    The first template is forked before the server has threads, so that it can be forked at any
    time. The system reaps its children.
    """

    def __init__(
        self, models: Mapping[str, TextPredictor], loaders: Mapping[str, Loader] | None = None
    ) -> None:
        context: Any = get_context("fork")
        self._connection, theirs = context.Pipe()
        own = TemplateModels(dict(models), loaders or {})
        self._child: Any = context.Process(
            target=_serve_first, args=(theirs, self._connection, own), daemon=True
        )
        self._child.start()
        theirs.close()
        self.pid: int = self._child.pid  # process id
        self._lock = threading.Lock()

    @classmethod
    def _of_copy(cls, connection: Connection, pid: int) -> Self:
        """A template forked from another."""
        template = cls.__new__(cls)
        template._connection, template.pid = connection, pid
        template._child, template._lock = None, threading.Lock()
        return template

    def fork(self) -> Process:
        """Fork a process; ProcessLost if the template has ended."""
        return Process(*self._copy(("copy", "")))

    def load(self, name: str) -> "ProcessTemplate":
        """Fork a template that loads one model as stored now; raises the error of loading."""
        connection, number = self._copy(("load", name))
        template = self._of_copy(connection, number)
        try:
            error: SeqloomError | None = connection.recv()
        except (EOFError, OSError):
            error = _lost()
        if error is not None:
            template.close()
            raise error
        return template

    def forget(self, name: str) -> None:
        """Remove a model from later forks."""
        with suppress(OSError), self._lock:
            self._connection.send(("forget", name))

    def close(self) -> None:
        """Shut it down after the fork under way and wait for its end; its forks end by
        themselves."""
        with self._lock:
            self._connection.close()
        if self._child is None:
            wait_for_end(self.pid)
        else:
            self._child.join()

    def _copy(self, word: Word) -> tuple[Connection, int]:
        """Fork with a connection, for the given purpose."""
        context: Any = get_context("fork")
        mine, theirs = context.Pipe()
        try:
            with self._lock, theirs:
                self._connection.send(word)
                send_handle(self._connection, theirs.fileno(), self.pid)
                number: int = self._connection.recv()
        except (EOFError, OSError):
            mine.close()
            raise _lost() from None
        return mine, number


def _lost() -> ProcessLost:
    return ProcessLost("the process that makes others has ended before its time")


class TemplateModels(NamedTuple):
    """The models of a template, with their loaders."""

    models: dict[str, TextPredictor]
    loaders: Mapping[str, Loader]

    def load(self, name: str) -> SeqloomError | None:
        """Load this model alone, as stored now; return the error if that fails."""
        try:
            model = self.loaders[name]().as_text_predictor()
        except SeqloomError as error:
            return error
        except Exception as error:
            return SeqloomError(f"the model cannot be loaded: {type(error).__name__}")
        self.models.clear()
        if model is not None:
            self.models[name] = model
        return None


def _serve_first(connection: Connection, other: Connection, own: TemplateModels) -> None:
    """Run the first template until the server ends."""
    other.close()
    if sys.platform == "win32":  # no fork
        return
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(kind, signal.SIG_IGN)
    use_one_thread()
    _serve_copies(connection, own)


def _serve_copies(connection: Connection, own: TemplateModels) -> None:
    """Fork this process for each command until the connection closes."""
    if sys.platform == "win32":
        return
    for model in own.models.values():
        _warm_up_core(model)
    return_memory()
    gc.freeze()  # garbage collection in forks would copy shared memory
    while True:
        try:
            word, name = connection.recv()
            if word == "forget":
                own.models.pop(name, None)
                continue
            pipe = Connection(recv_handle(connection))
        except (EOFError, OSError):
            return
        number = os.fork()
        if not number:
            connection.close()
            try:
                _be_copy(pipe, own, name if word == "load" else None)
            finally:
                os._exit(0)
        pipe.close()
        connection.send(number)


def _warm_up_core(model: TextPredictor) -> None:
    """Initialize what a first search needs, so that forks share it; not with torch, whose threads
    do not survive a fork.
    """
    if not is_torch_loaded():
        model.warm_up_core()


def _be_copy(connection: Connection, own: TemplateModels, name: str | None) -> None:
    """Run as a fork: decode, or load the model of this name and serve as a template."""
    if name is None:
        if sys.platform != "win32":
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        serve_commands(connection, own.models)
        return
    error = own.load(name)
    connection.send(error)
    if error is None:
        _serve_copies(connection, own)
