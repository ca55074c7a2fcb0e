"""Base of fields whose cells name files, with a cache of rows."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from seqloom.config.columns import ColumnOptions
from seqloom.errors import DataError
from seqloom.fields.field_files import PersistentField
from seqloom.fields.items import Items, Values

__all__ = ["UPLOAD_NAME", "FileCache", "FileField"]

UPLOAD_NAME = "the file"  # the name of an upload in errors
CACHE_BYTES = 128 * 2**20  # bytes of cached rows

Kind = TypeVar("Kind", bound=ColumnOptions)


class _CachedRow(NamedTuple):
    """A row, and the state of its file."""

    state: tuple[int, ...]
    row: Values


class FileCache:
    """An LRU cache of file rows, up to so many bytes; the newest is always kept.

    A changed file is read again; a folder counts as changed when its list of files has.
    """

    def __init__(self, read: Callable[[str], Values], most: int) -> None:
        self._read = read
        self._most = most
        self._seen: OrderedDict[str, _CachedRow] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __call__(self, name: str) -> Values:
        """The row of a file in its current state."""
        state = _file_state(name)
        with self._lock:
            seen = self._seen.get(name)
            if seen is not None and seen.state == state:
                self._seen.move_to_end(name)
                return seen.row
        row = self._read(name)
        if state is not None:
            self._remember(name, _CachedRow(state, row))
        return row

    def _remember(self, name: str, seen: _CachedRow) -> None:
        with self._lock:
            before = self._seen.pop(name, None)
            self._bytes += seen.row.nbytes - (before.row.nbytes if before else 0)
            self._seen[name] = seen
            while self._bytes > self._most and len(self._seen) > 1:
                self._bytes -= self._seen.popitem(last=False)[1].row.nbytes


class FileField(PersistentField[Kind]):
    """Base class of fields whose cells name files."""

    reads_files: ClassVar[bool] = True

    def __init__(self, config: Kind) -> None:
        self.config = config
        self._recent = FileCache(self._row, CACHE_BYTES)

    @classmethod
    def learn(cls, config: Kind, cells: Iterable[str], *, seed: int) -> Self:
        """There is nothing to learn."""
        return cls(config)

    @classmethod
    def restore(cls, config: Kind, facts: Mapping[str, Any], directory: Path) -> Self:
        """Nothing is saved beyond the configuration."""
        return cls(config)

    @classmethod
    def placeholder_items(cls, config: Kind) -> Items:
        """The field's items, which do not depend on the data."""
        return cls.learn(config, (), seed=0).items

    def fault(self, cell: str) -> DataError | None:
        """The error of a missing file, or one of another kind."""
        try:
            self._recent(cell)
        except DataError as error:
            return error
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Each file as its items."""
        return [self._recent(cell) for cell in cells]

    def _row(self, cell: str) -> Values:
        """Read a file; DataError if it has no items."""
        raise NotImplementedError


def _file_state(name: str) -> tuple[int, ...] | None:
    """A value that changes with the file; None if there is no such file."""
    try:
        found = os.stat(name.strip())
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
