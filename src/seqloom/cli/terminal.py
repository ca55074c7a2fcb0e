"""Behave as a Unix filter: closed pipes, lost logs, full disks, escaped newlines."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

__all__ = [
    "behave_as_filter",
    "discard_output",
    "escape_newlines",
    "print_hint",
    "tolerate_lost_log",
    "unescape_newlines",
]


def behave_as_filter() -> None:
    """End quietly, as other filters do, when the reader of the output has gone."""
    if hasattr(signal, "SIGPIPE"):  # Windows has no SIGPIPE: there it ends as on a full disk
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def discard_output(stream: TextIO) -> None:
    """Redirect a stream that cannot be written, with its buffer, to the null device."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class LogStream:
    """A standard error stream that ignores write errors, so that work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text; ignore errors."""
        try:
            return self._stream.write(text)
        except OSError:
            discard_output(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush the buffer; ignore errors."""
        try:
            self._stream.flush()
        except OSError:
            discard_output(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def tolerate_lost_log() -> Iterator[None]:
    """Ignore write errors on standard error within the block."""
    before = sys.stderr
    if before is not None:
        sys.stderr = cast(TextIO, LogStream(before))
    try:
        yield
    finally:
        sys.stderr = before


def print_hint(text: str) -> None:
    """Print a closing hint on standard error, ignoring write errors."""
    try:
        print(text, flush=True)
    except OSError:
        discard_output(sys.stdout)


def escape_newlines(text: str) -> str:
    """Escape the line ends of a text."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


def unescape_newlines(line: str) -> str:
    """Undo `escape_newlines`."""
    return line.replace("\\r", "\r").replace("\\n", "\n")
