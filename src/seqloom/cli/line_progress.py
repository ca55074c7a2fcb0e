"""Progress over a long list of lines: a bar on a terminal, elsewhere a line per minute."""

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["LineProgress", "count_lines"]

LINE_EVERY = 60.0  # seconds between two lines where there is no bar, ...
REDRAWN_EVERY = 0.1  # ... and between two states of the bar
CHUNK = 1 << 20


def count_lines(path: Path) -> int:
    """Count the lines of a plain file, the last with or without its newline."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


class LineProgress:
    """Shows on standard error how many lines are done and the time left."""

    def __init__(self, path: Path | None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        is_plain = path is not None and path.is_file() and path.suffix != ".gz"
        self._total = count_lines(path) if is_plain and path is not None else None
        terminal = Console(stderr=True)
        columns = TextColumn("lines"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self._bar = Progress(
            *columns, console=terminal, transient=True, disable=not terminal.is_terminal
        )
        self._task = self._bar.add_task("lines", total=self._total)
        self._began = self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def follow(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, counting them."""
        every = LINE_EVERY if self._bar.disable else REDRAWN_EVERY
        for count, line in enumerate(lines, 1):
            yield line
            if time.monotonic() - self._spoke >= every:
                self._speak(count)

    def _speak(self, count: int) -> None:
        self._spoke = time.monotonic()
        if not self._bar.disable:
            self._bar.update(self._task, completed=count)
            return
        minutes = (self._spoke - self._began) / 60
        done = f"{count:,} lines"
        if self._total:
            left = minutes * (self._total - count) / count
            done = f"{count:,} of {self._total:,} lines · about {left:.0f} min left"
        print(f"{done} · {minutes:.1f} min", file=sys.stderr)
