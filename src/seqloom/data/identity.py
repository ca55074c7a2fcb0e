"""What tells a data set from another: its files' names, sizes, columns and hashes."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from seqloom.data.memory_rows import Data, row_bytes
from seqloom.data.parts import data_files
from seqloom.data.table import describe_data
from seqloom.errors import RunError
from seqloom.readers.reader import FileIdentity, reader_of

__all__ = ["DataIdentity", "compare_data", "identify_data"]


@dataclass(frozen=True)
class DataIdentity:
    """The files that a data set is made of."""

    files: tuple[FileIdentity, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "DataIdentity":
        """The inverse of `as_dict`; RunError where they are something else."""
        try:
            return cls(tuple(FileIdentity(**each) for each in values["files"]))
        except (KeyError, TypeError):
            raise RunError(
                "progress.json does not say what data it had", remedy="use another step"
            ) from None


def identify_data(data: Data) -> DataIdentity:
    """What a data set is now; its files are read once."""
    if isinstance(data, str | Path):
        files = data_files(data)
        return DataIdentity(tuple(reader_of(path).identify(path) for path in files))
    digest = sha256()
    for part in row_bytes(data):
        digest.update(part)
    file = FileIdentity(describe_data(data), len(data), sha256=digest.hexdigest())
    return DataIdentity((file,))


def compare_data(data: Data, before: DataIdentity) -> str:
    """Which file of a data set is not what it was, and how, in words; empty if none is."""
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
