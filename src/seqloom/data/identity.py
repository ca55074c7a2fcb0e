"""What tells a data set from another: its files by name, size, columns and hash."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from seqloom.data.memory_rows import Data, row_bytes
from seqloom.data.readers import reader_of
from seqloom.data.table import data_files, describe_data
from seqloom.errors import RunError

__all__ = ["DataIdentity", "FileIdentity", "compare_data", "identify_data"]

HASH_DIGITS = 8  # of a hash that is told


@dataclass(frozen=True)
class FileIdentity:
    """One file of a data set, or the rows in memory."""

    name: str
    rows: int
    unit: str = "rows"  # that are counted: rows, or lines of text
    columns: int = 0  # 0 where the format has none
    sha256: str = ""

    def differences(self, before: "FileIdentity") -> Iterator[str]:
        """How this file differs from what it was, in words."""
        if self.name != before.name:
            yield f"is called {self.name} where it was {before.name}"
        if self.columns != before.columns:
            yield f"has {self.columns} columns where it had {before.columns}"
        if self.rows != before.rows:
            yield f"has {self.rows:,} {self.unit} where it had {before.rows:,}"
        if self.sha256 != before.sha256:
            hashes = (each.sha256[:HASH_DIGITS] for each in (self, before))
            yield "has the SHA-256 {}... where it had {}...".format(*hashes)


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
        return DataIdentity(tuple(map(_identify_file, data_files(data))))
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


def _identify_file(path: Path) -> FileIdentity:
    reader = reader_of(path)
    with path.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    return FileIdentity(
        path.name, reader.count_rows(path), reader.row_unit, reader.count_columns(path), digest
    )


def _join(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
