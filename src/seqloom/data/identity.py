"""The identity of a data set: names, sizes, columns and hashes of its files."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from seqloom.data.memory_rows import Data, row_bytes
from seqloom.data.parts import data_files
from seqloom.data.table import describe_data
from seqloom.errors import RunError
from seqloom.readers.reader import FileIdentity, file_hash, reader_of

__all__ = ["DataIdentity", "compare_data", "hash_files", "identify_data"]


@dataclass(frozen=True)
class DataIdentity:
    """The files of a data set."""

    files: tuple[FileIdentity, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "DataIdentity":
        """The inverse of `as_dict`; RunError if the values are invalid."""
        try:
            return cls(tuple(FileIdentity(**each) for each in values["files"]))
        except (KeyError, TypeError):
            raise RunError(
                "progress.json does not say what data it had", remedy="use another step"
            ) from None


def identify_data(data: Data) -> DataIdentity:
    """Identify the current data; its files are read once."""
    if isinstance(data, str | Path):
        files = data_files(data)
        return DataIdentity(tuple(reader_of(path).identify(path) for path in files))
    digest = sha256()
    for part in row_bytes(data):
        digest.update(part)
    file = FileIdentity(describe_data(data), len(data), sha256=digest.hexdigest())
    return DataIdentity((file,))


def hash_files(data: Data, tell: Callable[[float], None] = lambda share: None) -> None:
    """Hash the files of a data set; `tell` receives the progress."""
    files = data_files(data)
    sizes = [path.stat().st_size for path in files]
    total, before = max(1, sum(sizes)), 0
    for path, size in zip(files, sizes, strict=True):
        file_hash(path, partial(_tell_bytes, tell, before, total))
        before += size


def _tell_bytes(tell: Callable[[float], None], before: int, total: int, count: int) -> None:
    tell((before + count) / total)


def compare_data(data: Data, before: DataIdentity) -> str:
    """Describe the first file that differs from the recorded one; empty if none does."""
    now = identify_data(data)
    if len(now.files) != len(before.files):
        return f"there are {len(now.files)} files where there were {len(before.files)}"
    pairs = zip(now.files, before.files, strict=True)
    changes = [(file, list(file.differences(old))) for file, old in pairs]
    several = len(now.files) > 1
    told = [f"{file.name} " * several + _join(found) for file, found in changes if found]
    return "; ".join(told)


def _join(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
