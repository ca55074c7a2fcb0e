"""Encode rows of cells within the limits, and fingerprint the inputs of encoding."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data, row_bytes
from seqloom.data.parts import data_files, data_shares
from seqloom.data.splitting import piece_values, split_pair
from seqloom.data.table import Row
from seqloom.fields import Field, Values
from seqloom.fields.recasing import Recasing
from seqloom.readers.lines import Fault, FileLocation, Reason
from seqloom.readers.reader import file_hash
from seqloom.readers.report import Report

__all__ = [
    "SIDES",
    "Columns",
    "EncodedRow",
    "drop_row",
    "encode_rows",
    "fingerprint",
    "fit_pieces",
    "fit_row",
    "usable_rows",
]

SIDES = ("source", "target")
FORMAT = 3
CHUNK = 1_000


@dataclass(frozen=True)
class Columns:
    """The fields of the two columns, and the limits of their rows."""

    source: Field
    target: Field
    config: DataConfig
    held_out: bool = False  # whether for evaluation, where labels may be unseen
    recasing: Recasing | None = None  # copies of rows in another case

    @property
    def is_aligned(self) -> bool:
        """Whether each token of the source has an item of the target (S1.1)."""
        return self.target.is_aligned

    @property
    def is_stream(self) -> bool:
        """Whether the targets of all rows are one continuous text without end symbols."""
        return self.config.lines == "stream"


def fingerprint(data: Data, columns: Columns, *parts: str | int) -> str:
    """A hash of everything that determines a corpus: data, fields, options, and named parts.

    `parts` are added by the caller, such as the side of a split and its seed.
    """
    fields = columns.source.fingerprint, columns.target.fingerprint
    files = data_files(data)
    names = [path.name for path in files]
    usual = {"columns": False, "arrays": False, "recased": 0.0}  # options that older runs lack
    exclude = {name for name, value in usual.items() if getattr(columns.config, name) == value}
    options = columns.config.model_dump_json(exclude=exclude)
    facts = (FORMAT, names, options, *fields, *parts, *data_shares(data))
    digest = sha256(repr(facts).encode("utf-8"))
    for path in files:
        digest.update(file_hash(path))
    for part in () if files else row_bytes(data):
        digest.update(part)
    return digest.hexdigest()


class EncodedRow(NamedTuple):
    """A row as encoded numbers."""

    source: Values
    target: Values
    place: FileLocation
    weight: float


def encode_rows(
    rows: Iterable[Row], columns: Columns, report: Report
) -> Iterator[EncodedRow | Fault]:
    """Encode rows, some hundreds in memory at a time; yield a fault for an unusable one.

    Files are encoded one by one, so that content read for validation is still cached.
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
            encoded = EncodedRow(next(sources), next(targets), row.place, row.weight)
            pieces = list(fit_pieces(row, encoded, columns, report))
            if any(isinstance(piece, EncodedRow) for piece in pieces):
                _count_unseen(row, columns, report)
            yield from pieces
            if columns.recasing is not None:
                yield from _recase_row(row, columns, columns.recasing)


def fit_pieces(
    row: Row, encoded: EncodedRow, columns: Columns, report: Report
) -> Iterator[EncodedRow | Fault]:
    """The row within the limits, whole or in pieces, or its fault."""
    fitting = fit_row(row, encoded.source, encoded.target, columns=columns)
    config = columns.config
    if isinstance(fitting, EncodedRow):
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


def _split_row(row: Row, encoded: EncodedRow, columns: Columns) -> Iterator[EncodedRow]:
    """Split a row that is too long; empty if source and target cannot be split in parallel."""
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


def _recase_row(row: Row, columns: Columns, recasing: Recasing) -> Iterator[EncodedRow]:
    """The recased copy of a row, if one is drawn and fits."""
    found = recasing.copy(row.source, row.target)
    if found is None:
        return
    copy = row._replace(source=found[0], target=found[1])
    (source,), (target,) = columns.source.rows([found[0]]), columns.target.rows([found[1]])
    fitting = fit_row(copy, source, target, columns=columns)
    if isinstance(fitting, EncodedRow):
        yield fitting


def _fault(row: Row, columns: Columns) -> Fault | None:
    """The fault of a row that a field rejects, if any; validation rows may have unseen labels."""
    sides = (columns.source, row.source), (columns.target, row.target)
    for name, (field, cell) in zip(SIDES, sides, strict=True):
        wrong = field.fault(cell)
        judged = columns.held_out and name == "target"
        if wrong is not None and not (judged and field.unseen(cell)):
            place, problem, _ = wrong.at(name).parts()
            return Fault(Reason.VALUE, row.place, f"{place}: {problem}", wrong.remedy)
    return None


def _count_unseen(row: Row, columns: Columns, report: Report) -> None:
    """Count the unseen labels of a validation row."""
    if columns.held_out:
        report.unseen.update(columns.target.unseen(row.target))
        report.unseen_name = columns.target.config.kind.rstrip("s")


def fit_row(row: Row, source: Values, target: Values, *, columns: Columns) -> EncodedRow | Fault:
    """The row within the limits, or its fault if it is too long or not aligned."""
    lengths = len(source) - columns.source.closing, len(target) - columns.target.closing
    if columns.is_stream:
        return EncodedRow(source, target[: lengths[1]], row.place, row.weight)
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
    return EncodedRow(source, target, row.place, row.weight)


def usable_rows(rows: Iterable[Row], columns: Columns, report: Report) -> Iterator[Row]:
    """Rows that both fields accept, aligned and within the limits where required.

    Others raise an error, or are dropped and counted, as in training.
    """
    for row in rows:
        fault = _fault(row, columns)
        if fault is None and (columns.is_aligned or columns.config.overlong == "error"):
            (source,), (target,) = (
                columns.source.rows([row.source]),
                columns.target.rows([row.target]),
            )
            fitting = fit_row(row, source, target, columns=columns)
            if not isinstance(fitting, EncodedRow) and not (
                fitting.reason.is_length and columns.config.overlong == "split"
            ):
                fault = fitting
        if fault is None:
            _count_unseen(row, columns, report)
            yield row
        else:
            drop_row(fault, columns.config, report)


def drop_row(fault: Fault, config: DataConfig, report: Report) -> None:
    """Count an unusable row, or raise its error, by the options."""
    overlong = fault.reason.is_length
    if not (config.overlong in ("drop", "split") if overlong else config.skip_bad):
        raise fault.final_error() if overlong else fault.error()
    report.kept -= 1
    report.drop(fault.reason, fault.place)
