"""The splits of a built-in data set, and how they are written to files."""

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
    """Training, validation and test pairs without common sources; sources that are labels are
    unique.
    """

    name: str
    train: Pairs
    valid: Pairs
    test: Pairs
    columns: tuple[str, str]  # names of the two columns, for display
    attribution: str = ""  # the notice that the licence requires; empty if it requires none
    credits: Mapping[str, str] = field(default_factory=dict)  # source -> author of the pair
    files: Mapping[str, bytes] = field(default_factory=dict)  # files that sources refer to, if any
    vocabulary: tuple[str, ...] = ()  # in a fixed order, if the data set has one


def split_pairs(name: str, pairs: Pairs, held_out: int, columns: tuple[str, str]) -> Splits:
    """Split pairs: the first rows for validation, as many for the test, and the rest for
    training.
    """
    valid, test = pairs[:held_out], pairs[held_out : 2 * held_out]
    return Splits(name, pairs[2 * held_out :], valid, test, columns=columns)


def write_splits(splits: Splits, directory: Path) -> list[Path]:
    """Write train.tsv, valid.tsv and test.tsv with a header, vocabulary.txt and ATTRIBUTION.txt if
    the data set has them, and the files that sources refer to; return the paths, of those files
    only their folders.

    An existing file is kept if equal, and an error otherwise.
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
    """Write a file atomically."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".seqloom-") as scratch:
        draft = Path(scratch, path.name)
        draft.write_bytes(content)
        os.replace(draft, path)
    return path
