"""Behave as a Unix command: pipes, lost logs, full disks, and one line for each output."""

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
    """End quietly, as other filters do, when whoever reads our output has gone."""
    if hasattr(signal, "SIGPIPE"):  # Windows has none: there it ends as on a disk that is full
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def discard_output(stream: TextIO) -> None:
    """Send nowhere what a stream that cannot be written still holds, and all that follows."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class LogStream:
    """Standard error that may be lost, as when a disk is full or its reader gone: work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, or lose it."""
        try:
            return self._stream.write(text)
        except OSError:
            discard_output(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write what is held back, or lose it."""
        try:
            self._stream.flush()
        except OSError:
            discard_output(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def tolerate_lost_log() -> Iterator[None]:
    """Within the block no work ends because standard error cannot be written."""
    before = sys.stderr
    if before is not None:
        sys.stderr = cast(TextIO, LogStream(before))
    try:
        yield
    finally:
        sys.stderr = before


def print_hint(text: str) -> None:
    """Print what a finished command says besides; it has done its work if that cannot be read."""
    try:
        print(text, flush=True)
    except OSError:
        discard_output(sys.stdout)


def escape_newlines(text: str) -> str:
    """The text with its line ends escaped."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


def unescape_newlines(line: str) -> str:
    """The text whose line ends were escaped so."""
    return line.replace("\\r", "\r").replace("\\n", "\n")
