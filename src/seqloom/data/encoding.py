"""From rows of cells to flat files of numbers, in a stream, and what such files depend on."""

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data, row_bytes
from seqloom.data.recasing import Recasing
from seqloom.data.splitting import piece_values, split_pair
from seqloom.data.table import Report, Row, data_files
from seqloom.errors import DataError
from seqloom.fields import Field, Values
from seqloom.readers.lines import Fault, FileLocation, Reason

__all__ = [
    "FILES",
    "SIDES",
    "Columns",
    "fingerprint",
    "usable_rows",
    "write_corpus",
    "write_tables",
]

SIDES = ("source", "target")
FILES = {
    *("lines", "weights"),
    *(f"{side}.{part}" for side in SIDES for part in ("values", "spans")),
}
FORMAT = 3
CHUNK = 1_000
BUFFER_BYTES = 16 * 2**20  # bytes of rows that wait to be written


@dataclass(frozen=True)
class Columns:
    """The fields of the two columns, and the limits that a row of them is held to."""

    source: Field
    target: Field
    config: DataConfig
    held_out: bool = False  # whether rows are judged, so that labels may be new
    recasing: Recasing | None = None  # rows that are learnt in another case too

    @property
    def is_aligned(self) -> bool:
        """Whether each token of the source has an item of the target (S1.1)."""
        return self.target.is_aligned

    @property
    def is_stream(self) -> bool:
        """Whether the targets of all rows are one text, which nothing closes."""
        return self.config.lines == "stream"


def fingerprint(data: Data, columns: Columns, *parts: str | int) -> str:
    """A hash of all that decides what a corpus holds: data, fields, options, and named parts.

    `parts` are what the caller adds, such as which side of a split it is and the split's seed.
    """
    fields = columns.source.fingerprint, columns.target.fingerprint
    files = data_files(data)
    names = [path.name for path in files]
    usual = {"columns": False, "arrays": False, "recased": 0.0}  # which older runs do not have
    exclude = {name for name, value in usual.items() if getattr(columns.config, name) == value}
    options = columns.config.model_dump_json(exclude=exclude)
    facts = (FORMAT, names, options, *fields, *parts)
    digest = sha256(repr(facts).encode("utf-8"))
    for path in files:
        with path.open("rb") as stream:
            digest.update(file_digest(stream, "sha256").digest())
    for part in () if files else row_bytes(data):
        digest.update(part)
    return digest.hexdigest()


def write_corpus(
    rows: Iterable[Row], columns: Columns, *, directory: Path, report: Report
) -> dict[str, Any]:
    """Write the files of a corpus, and say what each holds.

    Rows that are too long are dropped, truncated, refused or split as `data.overlong` says (S1.6);
    those that a field cannot take are an error, or are left out with `data.skip_bad`.
    """
    lines, weights, file = array("q"), array("d"), ""
    with ExitStack() as stack:
        source = stack.enter_context(_ColumnWriter(directory / "source", columns.source))
        target = stack.enter_context(_ColumnWriter(directory / "target", columns.target))
        for row in _encode_rows(rows, columns, report):
            file = row.place.file
            if not isinstance(row, _EncodedRow):
                _drop_row(row, columns.config, report)
                continue
            source.add(row.source)
            target.add(row.target)
            lines.append(row.place.line)
            weights.append(row.weight)
    if not lines:
        cure = "raise data.max_source and data.max_target"
        raise DataError(
            "no row is left that is short enough", place=file or "the data", remedy=cure
        )
    if not any(weights):
        raise DataError(
            "every row has the weight 0", place=file, remedy="give one at least that counts"
        )
    for name, values in (("lines", lines), ("weights", weights)):
        with (directory / name).open("wb") as stream:
            values.tofile(stream)
            _sync(stream)
    whole = {"lines": ("int64", len(lines)), "weights": ("float64", len(weights))}
    files = {**whole, **source.contents(), **target.contents()}
    return {"file": file, "files": files, "widths": [source.width, target.width]}


def write_tables(
    tables: tuple[NDArray[np.float32], NDArray[np.float32]],
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    lines: NDArray[np.int64],
    directory: Path,
    file: str,
) -> dict[str, Any]:
    """Write the files of a corpus whose rows are stretches of two tables, and say what each holds.

    Stretches may overlap.
    """
    arrays: dict[str, NDArray[Any]] = {"lines": lines, "weights": np.ones(len(lines))}
    for side, table, span in zip(SIDES, tables, spans, strict=True):
        arrays[f"{side}.values"], arrays[f"{side}.spans"] = table, span
    for name, values in arrays.items():
        with (directory / name).open("wb") as stream:
            values.tofile(stream)
            _sync(stream)
    files = {name: (values.dtype.name, values.size) for name, values in arrays.items()}
    return {"file": file, "files": files, "widths": [table.shape[1] for table in tables]}


class _EncodedRow(NamedTuple):
    """One row as numbers."""

    source: Values
    target: Values
    place: FileLocation
    weight: float


class _ColumnWriter:
    """The two files of one side while they grow."""

    def __init__(self, stem: Path, field: Field) -> None:
        self._stem = stem
        self.width = field.items.stored_size
        self._kind = field.items.stored_dtype
        self._rows: list[Values] = []
        self._held = self._count = self._items = 0

    def __enter__(self) -> "_ColumnWriter":
        self._streams = [self._stem.with_suffix(end).open("wb") for end in (".values", ".spans")]
        return self

    def add(self, row: Values) -> None:
        """Append one row."""
        self._rows.append(row)
        self._held += row.nbytes
        if len(self._rows) >= CHUNK or self._held >= BUFFER_BYTES:
            self._flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        for stream in self._streams:
            _sync(stream)
            stream.close()

    def contents(self) -> dict[str, tuple[str, int]]:
        """The type and the number of entries of each file."""
        name = self._stem.name
        return {
            f"{name}.values": (self._kind.name, self._items * max(1, self.width)),
            f"{name}.spans": ("int64", 2 * self._count),
        }

    def _flush(self) -> None:
        if not self._rows:
            return
        np.concatenate(self._rows).astype(self._kind, copy=False).tofile(self._streams[0])
        ends = self._items + np.cumsum(np.fromiter(map(len, self._rows), np.int64))
        starts = np.concatenate([[self._items], ends[:-1]])
        np.stack([starts, ends], axis=1).tofile(self._streams[1])
        self._items = int(ends[-1])
        self._count += len(ends)
        self._rows, self._held = [], 0


def _encode_rows(
    rows: Iterable[Row], columns: Columns, report: Report
) -> Iterator[_EncodedRow | Fault]:
    """Rows as numbers, some hundreds of them in memory at a time; or what is wrong with each.

    Files come one by one, so that the content that was looked at for faults is still at hand.
    """
    stream = iter(rows)
    named = columns.source.reads_files or columns.target.reads_files
    while some := list(islice(stream, 1 if named else CHUNK)):
        faults = [_fault(row, columns) for row in some]
        sound = [row for row, fault in zip(some, faults, strict=True) if fault is None]
        sources = iter(columns.source.rows([row.source for row in sound]))
        targets = iter(columns.target.rows([row.target for row in sound]))
        for row, fault in zip(some, faults, strict=True):
            if fault is not None:
                yield fault
                continue
            encoded = _EncodedRow(next(sources), next(targets), row.place, row.weight)
            pieces = list(_fit_pieces(row, encoded, columns, report))
            if any(isinstance(piece, _EncodedRow) for piece in pieces):
                _count_unseen(row, columns, report)
            yield from pieces
        if columns.recasing is not None:
            yield from _recase_rows(sound, columns, columns.recasing)


def _fit_pieces(
    row: Row, encoded: _EncodedRow, columns: Columns, report: Report
) -> Iterator[_EncodedRow | Fault]:
    """The row within the limits, whole or in pieces, or what is wrong with it."""
    fitting = _fit_row(row, encoded.source, encoded.target, columns=columns)
    config = columns.config
    if isinstance(fitting, _EncodedRow):
        shortened = (len(fitting.source), len(fitting.target)) < (
            len(encoded.source),
            len(encoded.target),
        )
        report.fitted["truncated"] += shortened and not columns.is_stream
    elif fitting.reason.is_length and config.overlong == "split":
        pieces = list(_split_row(row, encoded, columns))
        report.fitted["split"] += bool(pieces)
        yield from pieces
        if pieces:
            return
        fitting = fitting._replace(reason=Reason.UNSPLIT)
    yield fitting


def _split_row(row: Row, encoded: _EncodedRow, columns: Columns) -> Iterator[_EncodedRow]:
    """The pieces of a row that is too long; none where source and target cannot be split in
    step."""
    config = columns.config
    if columns.is_aligned:
        most, start = min(config.max_source, config.max_target), 0
        for values in piece_values(columns.source, row.source, encoded.source, most):
            end = start + len(values) - columns.source.closing
            yield encoded._replace(source=values, target=encoded.target[start:end])
            start = end
        return
    pairs = split_pair((row.source, row.target), (columns.source, columns.target), config) or []
    sources = columns.source.rows([source for source, _ in pairs])
    targets = columns.target.rows([target for _, target in pairs])
    for source, target in zip(sources, targets, strict=True):
        yield encoded._replace(source=source, target=target)


def _recase_rows(rows: list[Row], columns: Columns, recasing: Recasing) -> Iterator[_EncodedRow]:
    """The other forms of those rows that are drawn; those that do not fit are left out."""
    copies = [
        row._replace(source=found[0], target=found[1])
        for row in rows
        if (found := recasing.copy(row.source, row.target)) is not None
    ]
    sources = columns.source.rows([row.source for row in copies])
    targets = columns.target.rows([row.target for row in copies])
    for row, source, target in zip(copies, sources, targets, strict=True):
        fitting = _fit_row(row, source, target, columns=columns)
        if isinstance(fitting, _EncodedRow):
            yield fitting


def _fault(row: Row, columns: Columns) -> Fault | None:
    """What a field cannot take of a row, if anything; held-out rows may have labels that training
    did not have."""
    sides = (columns.source, row.source), (columns.target, row.target)
    for name, (field, cell) in zip(SIDES, sides, strict=True):
        wrong = field.fault(cell)
        judged = columns.held_out and name == "target"
        if wrong is not None and not (judged and field.unseen(cell)):
            place, problem, _ = wrong.at(name).parts()
            return Fault(Reason.VALUE, row.place, f"{place}: {problem}", wrong.remedy)
    return None


def _count_unseen(row: Row, columns: Columns, report: Report) -> None:
    """Count the labels of a held-out row that training did not have."""
    if columns.held_out:
        report.unseen.update(columns.target.unseen(row.target))
        report.unseen_name = columns.target.config.kind.rstrip("s")


def _fit_row(row: Row, source: Values, target: Values, *, columns: Columns) -> _EncodedRow | Fault:
    """The row within the limits, or the fault of one that is too long or not aligned."""
    lengths = len(source) - columns.source.closing, len(target) - columns.target.closing
    if columns.is_stream:
        return _EncodedRow(source, target[: lengths[1]], row.place, row.weight)
    if columns.is_aligned and lengths[0] != lengths[1]:
        unit = columns.source.length_unit or "tokens"
        problem = f"the source has {lengths[0]:,} {unit} and the target {lengths[1]:,} tags"
        return Fault(Reason.ALIGNMENT, row.place, problem, f"give each {unit[:-1]} one tag")
    limits = columns.config.max_source, columns.config.max_target
    if columns.is_aligned:
        limits = (min(limits),) * 2
    refused = columns.config.overlong != "truncate"
    for name, length, limit in zip(SIDES, lengths, limits, strict=True):
        if length > limit and refused and not (name == "source" and columns.source.truncates_left):
            reason = Reason.LONG_SOURCE if name == "source" else Reason.LONG_TARGET
            unit = (name == "source" and columns.source.length_unit) or "tokens"
            cure = f"raise data.max_{name} or set data.overlong to drop, truncate or split"
            return Fault(reason, row.place, f"the {name} has {length:,} {unit}", cure)
    source = columns.source.truncate(source, limits[0])
    target = columns.target.truncate(target, limits[1])
    return _EncodedRow(source, target, row.place, row.weight)


def usable_rows(rows: Iterable[Row], columns: Columns, report: Report) -> Iterator[Row]:
    """Rows that both fields can take, aligned and within the limits where they have to be.

    Others are an error, or are left out and counted, as in training.
    """
    for row in rows:
        fault = _fault(row, columns)
        if fault is None and (columns.is_aligned or columns.config.overlong == "error"):
            (source,), (target,) = (
                columns.source.rows([row.source]),
                columns.target.rows([row.target]),
            )
            fitting = _fit_row(row, source, target, columns=columns)
            if not isinstance(fitting, _EncodedRow) and not (
                fitting.reason.is_length and columns.config.overlong == "split"
            ):
                fault = fitting
        if fault is None:
            _count_unseen(row, columns, report)
            yield row
        else:
            _drop_row(fault, columns.config, report)


def _drop_row(fault: Fault, config: DataConfig, report: Report) -> None:
    """Count a row that cannot be used, or stop there, as the options say."""
    overlong = fault.reason.is_length
    if not (config.overlong in ("drop", "split") if overlong else config.skip_bad):
        raise fault.final_error() if overlong else fault.error()
    report.kept -= 1
    report.drop(fault.reason, fault.place)


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
