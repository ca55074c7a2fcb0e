"""What happened in a run, one JSON object a line, as it is written and as others read along.

A process that dies may leave half an event. Such a line is passed over in reading, and the next
event starts on a line of its own."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from seqloom.errors import RunError
from seqloom.store import durable
from seqloom.store.durable import LARGEST_JSON, encode_json, open_plain, parse_json

__all__ = ["EventTail", "append_event", "read_events", "truncate_events"]


class EventTail:
    """The events of a diary that is still being written; each call reads only what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[dict[str, Any]] = []
        self.generation = 0  # rises where the diary was cut, and is read anew
        self._offset = 0
        self._file = 0  # its inode

    def refresh(self) -> None:
        """Read the whole lines that were added since the last call."""
        if not os.path.lexists(self.path):
            return
        with open_plain(self.path) as file:
            status = os.fstat(file.fileno())
            if status.st_size < self._offset or self._file not in (0, status.st_ino):
                self.events, self._offset, self.generation = [], 0, self.generation + 1
            self._file = status.st_ino
            file.seek(self._offset)
            while (line := file.readline(LARGEST_JSON)).endswith(b"\n"):
                self._offset += len(line)
                with suppress(RunError):
                    self.events.append(parse_json(line, self.path))


def append_event(path: Path, event: dict[str, Any]) -> None:
    """Add one line; a number that is not finite becomes null."""
    line = encode_json(_without_infinities(event))
    with durable.run_errors(path):
        durable.append(path, b"\n" + line if _ends_mid_line(path) else line)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events in order, one in memory at a time; lines that are not whole are passed over."""
    if not os.path.lexists(path):
        return
    with open_plain(path) as file:
        while line := file.readline(LARGEST_JSON):
            try:
                yield parse_json(line, path)
            except RunError:
                continue


def truncate_events(path: Path, beside: Path, *, after_step: int) -> None:
    """Drop the events of later steps at once, by way of a new file `beside` the old."""
    kept = [event for event in read_events(path) if _step(event) <= after_step]
    with durable.run_errors(path):
        durable.remove_tree(beside)
        durable.write_file(beside, b"".join(encode_json(event) for event in kept))
        durable.rename(beside, path)
        durable.sync_directory(path.parent)


def _step(event: dict[str, Any]) -> int:
    step = event.get("step", 0)
    return step if isinstance(step, int) else 0


def _ends_mid_line(path: Path) -> bool:
    if not os.path.lexists(path):
        return False
    with open_plain(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) not in (b"", b"\n")


def _without_infinities(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {name: _without_infinities(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_infinities(item) for item in value]
    return value
