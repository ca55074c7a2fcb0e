"""A built-in data set as three lists of pairs, and how it is written to files."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seqloom.errors import DataError

__all__ = ["Pairs", "Splits", "split_pairs", "write_splits"]

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Splits:
    """A data set cut into training, validation and test pairs, none of which shares a source; where
    sources are labels, none is there twice."""

    name: str
    train: Pairs
    valid: Pairs
    test: Pairs
    columns: tuple[str, str]  # what the two sides hold, for tables a person reads
    attribution: str = ""  # what the licence asks to be shown; empty where it asks nothing
    credits: Mapping[str, str] = field(default_factory=dict)  # source -> who wrote the pair
    files: Mapping[str, bytes] = field(default_factory=dict)  # those that sources name, if they do
    vocabulary: tuple[str, ...] = ()  # in an order of its own, where the data set has one


def split_pairs(name: str, pairs: Pairs, held_out: int, columns: tuple[str, str]) -> Splits:
    """The first rows for validation, as many more for the test, and all others to learn from."""
    valid, test = pairs[:held_out], pairs[held_out : 2 * held_out]
    return Splits(name, pairs[2 * held_out :], valid, test, columns=columns)


def write_splits(splits: Splits, directory: Path) -> list[Path]:
    """Write train.tsv, valid.tsv and test.tsv with a header, vocabulary.txt and ATTRIBUTION.txt
    where there are such, and the files that sources name; of those, only the folders are in the
    list.

    A file that is already there stays as it is when equal, and is an error when not.
    """
    contents = {
        f"{name}.tsv": _table(rows, splits.credits).encode()
        for name, rows in (("train", splits.train), ("valid", splits.valid), ("test", splits.test))
    }
    if splits.attribution:
        contents["ATTRIBUTION.txt"] = (splits.attribution.rstrip("\n") + "\n").encode()
    if splits.vocabulary:
        contents["vocabulary.txt"] = "".join(f"{word}\n" for word in splits.vocabulary).encode()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in (*contents.items(), *splits.files.items()):
            _refuse_to_overwrite(directory / name, content)
        folders = {(directory / name).parent for name in splits.files}
        for folder in folders:
            folder.mkdir(exist_ok=True)
        for name, content in splits.files.items():
            (directory / name).write_bytes(content)
        tables = [_write(directory / name, content) for name, content in contents.items()]
        return [*tables, *sorted(folders)]
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})", place=directory, remedy="choose another folder"
        ) from error


def _table(rows: Pairs, credits: Mapping[str, str]) -> str:
    header = ("source", "target", "attribution") if credits else ("source", "target")
    lines = ["\t".join(header)]
    for source, target in rows:
        cells = (source, target, credits[source]) if credits else (source, target)
        if any(mark in cell for cell in cells for mark in "\t\n\r"):
            raise DataError(f"{source!r}: a tab or line end inside a cell cannot be written as TSV")
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def _refuse_to_overwrite(path: Path, content: bytes) -> None:
    if path.exists() and (not path.is_file() or path.read_bytes() != content):
        raise DataError(
            "exists already with other content", place=path, remedy="choose another folder"
        )


def _write(path: Path, content: bytes) -> Path:
    """Write the whole file or nothing."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".seqloom-") as scratch:
        draft = Path(scratch, path.name)
        draft.write_bytes(content)
        os.replace(draft, path)
    return path
