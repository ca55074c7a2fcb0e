"""From rows of text to flat files of token ids, in a stream, and what such files depend on."""

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.report import Fault, Reason, Report
from seqloom.data.table import Data, Row, data_files
from seqloom.errors import DataError
from seqloom.fields.specials import END
from seqloom.fields.text import TextField

__all__ = ["FILES", "SIDES", "Columns", "fingerprint", "write_corpus"]

SIDES = ("source", "target")
FILES = {
    *("lines", "weights"),
    *(f"{side}.{part}" for side in SIDES for part in ("tokens", "offsets")),
}
FORMAT = 2
CHUNK = 1_000
LAST = np.array([END], dtype=np.int32)
Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Columns:
    """The fields of the two columns, and the limits that a row of them is held to."""

    source: TextField
    target: TextField
    config: DataConfig


def fingerprint(data: Data, columns: Columns, *parts: str | int) -> str:
    """A hash of all that decides what a corpus holds: data, fields, options, and named parts.

    `parts` are what the caller adds, such as which side of a split it is and the split's seed.
    """
    fields = columns.source.fingerprint, columns.target.fingerprint
    names = [path.name for path in data_files(data)]
    facts = (FORMAT, names, columns.config.model_dump_json(), *fields, *parts)
    digest = sha256(repr(facts).encode("utf-8"))
    for path in data_files(data):
        with path.open("rb") as stream:
            digest.update(file_digest(stream, "sha256").digest())
    if not isinstance(data, str | Path):
        for row in data:
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def write_corpus(
    rows: Iterable[Row], columns: Columns, *, directory: Path, report: Report
) -> dict[str, Any]:
    """Write the files of a corpus, and say what each holds.

    Rows that are too long are dropped, cut or refused as `data.overlong` says (SPEC S1.6).
    """
    lines, weights, file = array("q"), array("d"), ""
    with ExitStack() as stack:
        source = stack.enter_context(_Side(directory / "source", columns.source.size))
        target = stack.enter_context(_Side(directory / "target", columns.target.size))
        for row, source_ids, target_ids in _encoded(rows, columns):
            file = row.place.file
            fault = _overlong(row, len(source_ids), len(target_ids), config=columns.config)
            if fault is None or columns.config.overlong == "truncate":
                source.add(source_ids[: columns.config.max_source])
                target.add(target_ids[: columns.config.max_target])
                lines.append(row.place.line)
                weights.append(row.weight)
            elif columns.config.overlong == "drop":
                report.kept -= 1
                report.drop(fault.reason, fault.place)
            else:
                raise DataError(f"{fault.place}: {fault.message}")
    if not lines:
        cure = "raise data.max_source and data.max_target"
        raise DataError(f"{file or 'the data'}: no row is left that is short enough; {cure}")
    if not any(weights):
        raise DataError(f"{file}: every row has the weight 0; give one at least that counts")
    for name, values in (("lines", lines), ("weights", weights)):
        with (directory / name).open("wb") as stream:
            values.tofile(stream)
            _settle(stream)
    whole = {"lines": ("int64", len(lines)), "weights": ("float64", len(weights))}
    return {"file": file, "files": {**whole, **source.contents(), **target.contents()}}


class _Side:
    """The two files of one side while they grow."""

    def __init__(self, stem: Path, size: int) -> None:
        self._stem = stem
        self._kind = np.dtype(np.uint16 if size <= 1 << 16 else np.int32)
        self._rows: list[Ids] = []
        self._count = self._tokens = 0

    def __enter__(self) -> "_Side":
        self._streams = [self._stem.with_suffix(end).open("wb") for end in (".tokens", ".offsets")]
        np.zeros(1, np.int64).tofile(self._streams[1])
        return self

    def add(self, ids: Ids) -> None:
        """Append one row and END after it."""
        self._rows += [ids, LAST]
        if len(self._rows) >= 2 * CHUNK:
            self._flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        for stream in self._streams:
            _settle(stream)
            stream.close()

    def contents(self) -> dict[str, tuple[str, int]]:
        """The type and the number of items of each file."""
        name = self._stem.name
        return {
            f"{name}.tokens": (self._kind.name, self._tokens),
            f"{name}.offsets": ("int64", self._count + 1),
        }

    def _flush(self) -> None:
        if not self._rows:
            return
        np.concatenate(self._rows).astype(self._kind).tofile(self._streams[0])
        lengths = np.fromiter(map(len, self._rows), np.int64).reshape(-1, 2).sum(axis=1)
        (self._tokens + np.cumsum(lengths)).tofile(self._streams[1])
        self._tokens += int(lengths.sum())
        self._count += len(lengths)
        self._rows = []


def _encoded(rows: Iterable[Row], columns: Columns) -> Iterator[tuple[Row, Ids, Ids]]:
    """Rows with their token ids, some hundreds of them in memory at a time."""
    stream = iter(rows)
    while some := list(islice(stream, CHUNK)):
        sources = columns.source.encode_many([row.source for row in some])
        targets = columns.target.encode_many([row.target for row in some])
        yield from zip(some, sources, targets, strict=True)


def _overlong(row: Row, source: int, target: int, *, config: DataConfig) -> Fault | None:
    """What is wrong with a row of so many tokens a side, if anything."""
    cure = "set data.overlong to drop or truncate"
    if source > config.max_source:
        message = f"the source has {source:,} tokens; raise data.max_source or {cure}"
        return Fault(Reason.LONG_SOURCE, row.place, message)
    if target > config.max_target:
        message = f"the target has {target:,} tokens; raise data.max_target or {cure}"
        return Fault(Reason.LONG_TARGET, row.place, message)
    return None


def _settle(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
