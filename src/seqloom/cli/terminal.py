"""Manners of a command among others: pipes, and one line for each output."""

import signal

__all__ = ["behave_as_filter", "escape_newlines", "unescape_newlines"]


def behave_as_filter() -> None:
    """End quietly, as other filters do, when whoever reads our output has gone."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def escape_newlines(text: str) -> str:
    """The text with its line ends escaped."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


def unescape_newlines(line: str) -> str:
    """The text whose line ends were escaped so."""
    return line.replace("\\r", "\r").replace("\\n", "\n")
