"""What another process reads of a run that is being trained, and asks of whoever trains it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from seqloom.errors import RunError
from seqloom.store import durable
from seqloom.store.durable import LARGEST_JSON, open_plain, parse_json, read_plain

__all__ = ["EventTail", "leave_request", "take_request"]

REQUEST = ".seqloom-request"  # one that is left over is removed with whatever is unfinished


def leave_request(run: Path, action: str) -> None:
    """Ask whoever trains a run to do something before its next update."""
    beside = run / f"{REQUEST}-{os.getpid()}"
    with durable.run_errors(run):
        durable.write_file(beside, action.encode())
        durable.rename(beside, run / REQUEST)


def take_request(run: Path) -> str:
    """What the one who trains a run is asked to do, once; empty where it is nothing."""
    path = run / REQUEST
    if not os.path.lexists(path):
        return ""
    action = ""
    with suppress(RunError):
        action = read_plain(path).decode("utf-8", "replace")
    with suppress(OSError):
        path.unlink()
    return action


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
