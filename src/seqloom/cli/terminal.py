"""Manners of a command among others: pipes, and one line for each output."""

import signal

__all__ = ["as_a_filter", "one_line", "several_lines"]


def as_a_filter() -> None:
    """End quietly, as other filters do, when whoever reads our output has gone."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def one_line(text: str) -> str:
    """The text with its line ends escaped."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


def several_lines(line: str) -> str:
    """The text whose line ends were escaped so."""
    return line.replace("\\r", "\r").replace("\\n", "\n")
