"""The files of a data set: one, two sides, shards, or several corpora with shares.

`train-*.tsv.gz` and a folder are all of their files in order of names. `a.tsv:0.7,b.tsv:0.3` is
several corpora, mixed in these proportions.
"""

import re
from pathlib import Path
from typing import NamedTuple

from seqloom.data.memory_rows import Data
from seqloom.errors import DataError
from seqloom.readers.lines import check_file
from seqloom.readers.reader import READERS, file_ending

__all__ = ["DataPart", "corpus_names", "data_files", "data_parts", "data_shares"]

SHARED = re.compile(r"(.+):(\d+(?:\.\d*)?|\.\d+)")
WILDCARDS = re.compile(r"[*?\[]")


class DataPart(NamedTuple):
    """One table or two sides, and the index of its corpus."""

    files: tuple[Path, ...]
    corpus: int = 0


def data_parts(data: Data) -> tuple[DataPart, ...]:
    """The parts of a data set in order; DataError if a file is missing or there is none."""
    if not isinstance(data, str | Path):
        return ()
    name = str(data)
    corpora = _corpora(name)
    if not corpora:
        return _expand(name, 0)
    return tuple(part for number, (each, _) in enumerate(corpora) for part in _expand(each, number))


def data_files(data: Data) -> tuple[Path, ...]:
    """All files of the data; empty if it is in memory."""
    return tuple(path for part in data_parts(data) for path in part.files)


def data_shares(data: Data) -> tuple[float, ...]:
    """The normalized shares of the corpora; empty if there is only one."""
    corpora = _corpora(str(data)) if isinstance(data, str | Path) else []
    total = sum(share for _, share in corpora)
    if corpora and not total:
        raise DataError("all shares are 0", place=str(data), remedy="give one that is not")
    return tuple(share / total for _, share in corpora)


def corpus_names(data: Data) -> tuple[str, ...]:
    """What several corpora with shares are called by."""
    return tuple(name for name, _ in (_corpora(str(data)) if data_shares(data) else []))


def _corpora(name: str) -> list[tuple[str, float]]:
    """The corpora of a name such as `a.tsv:0.7,b.tsv:0.3`; empty for any other name."""
    matches = [SHARED.fullmatch(part.strip()) for part in name.split(",")]
    if Path(name).exists() or not all(matches):
        return []
    return [(match[1], float(match[2])) for match in matches if match]


def _expand(name: str, corpus: int) -> tuple[DataPart, ...]:
    """The files of one corpus."""
    path = Path(name)
    if path.is_dir():
        shards = sorted(filter(_is_readable, path.iterdir()))
        if not shards:
            check_file(path)
        return _shards(shards, name, corpus)
    if WILDCARDS.search(name) and "," not in name and not path.exists():
        folder = Path(path.anchor) if path.is_absolute() else Path()
        found = folder.glob(str(path.relative_to(path.anchor)))
        return _shards(sorted(each for each in found if each.is_file()), name, corpus)
    files = (path,) if "," not in name or path.exists() else _sides(name)
    for each in files:
        check_file(each)
    return (DataPart(files, corpus),)


def _shards(files: list[Path], name: str, corpus: int) -> tuple[DataPart, ...]:
    if not files:
        raise DataError("no such file", place=name, remedy="check the path, or name one file")
    return tuple(DataPart((path,), corpus) for path in files)


def _is_readable(path: Path) -> bool:
    """Whether a file of a folder holds rows."""
    return path.is_file() and file_ending(path) in READERS.parts and not path.name.startswith(".")


def _sides(name: str) -> tuple[Path, ...]:
    """The two files of a name with a comma: split where both exist, else at the first comma."""
    commas = [index for index, letter in enumerate(name) if letter == ","]
    splits = [(Path(name[:index].strip()), Path(name[index + 1 :].strip())) for index in commas]
    return next((both for both in splits if all(side.exists() for side in both)), splits[0])
