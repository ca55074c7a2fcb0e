"""Encode blocks of rows, thousands at once where possible."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.data.blocks.rows import BlockRows
from seqloom.data.encoding import (
    Columns,
    EncodedRow,
    drop_row,
    encode_rows,
    fit_pieces,
    fit_row,
)
from seqloom.data.table import Row
from seqloom.fields import Field
from seqloom.fields.items import FlatRows
from seqloom.readers.lines import Fault
from seqloom.readers.report import Report

__all__ = ["EncodedBlock", "encode_block"]


@dataclass(frozen=True)
class EncodedBlock:
    """Encoded rows, concatenated."""

    source: FlatRows
    target: FlatRows
    lines: NDArray[np.int64]
    weights: NDArray[np.float64]
    file: str

    @classmethod
    def of(cls, rows: Sequence[EncodedRow], columns: Columns, file: str) -> "EncodedBlock":
        """Concatenate rows."""
        return cls(
            _store(columns.source, FlatRows.of([row.source for row in rows])),
            _store(columns.target, FlatRows.of([row.target for row in rows])),
            np.fromiter((row.place.line for row in rows), np.int64, len(rows)),
            np.fromiter((row.weight for row in rows), np.float64, len(rows)),
            file,
        )

    def pick(self, places: NDArray[np.int64]) -> "EncodedBlock":
        """Select rows by index, in this order."""
        source, target = self.source.pick(places), self.target.pick(places)
        return EncodedBlock(source, target, self.lines[places], self.weights[places], self.file)

    def append(self, other: "EncodedBlock") -> "EncodedBlock":
        """Concatenate these rows and those of another block."""
        return EncodedBlock(
            self.source.append(other.source),
            self.target.append(other.target),
            np.concatenate([self.lines, other.lines]),
            np.concatenate([self.weights, other.weights]),
            self.file,
        )


def encode_block(rows: BlockRows, columns: Columns, report: Report) -> EncodedBlock:
    """Encode the rows of a block within the limits; count unusable rows, or raise an error."""
    bulk = not (columns.is_aligned or columns.is_stream)
    if not (bulk and columns.source.takes_any_cell and columns.target.takes_any_cell):
        return _encode_each(rows, columns, report)
    found = _encode_all(rows, columns)

    def fit(row: Row, encoded: EncodedRow) -> Iterator[EncodedRow]:
        for piece in fit_pieces(row, encoded, columns, report):
            if isinstance(piece, Fault):
                drop_row(piece, columns.config, report)
            else:
                yield piece

    found, owners = _fit_block(found, rows, columns, fit)
    return found if columns.recasing is None else _add_recased(found, owners, rows, columns)


def _encode_each(rows: BlockRows, columns: Columns, report: Report) -> EncodedBlock:
    """Encode rows one by one."""
    encoded = []
    for row in encode_rows(rows.each(), columns, report):
        if isinstance(row, Fault):
            drop_row(row, columns.config, report)
        else:
            encoded.append(row)
    return EncodedBlock.of(encoded, columns, rows.file)


def _encode_all(rows: BlockRows, columns: Columns) -> EncodedBlock:
    """Encode all rows at once, of any length."""
    source = _store(columns.source, columns.source.flat_rows(rows.sources))
    target = _store(columns.target, columns.target.flat_rows(rows.targets))
    return EncodedBlock(source, target, rows.lines, rows.weights, rows.file)


def _store(field: Field, rows: FlatRows) -> FlatRows:
    return rows.astype(field.items.stored_dtype)


def _is_long(block: EncodedBlock, columns: Columns) -> NDArray[np.bool_]:
    """A mask of the rows that exceed the limits."""
    config = columns.config
    source = block.source.lengths - columns.source.closing > config.max_source
    return np.asarray(source | (block.target.lengths - columns.target.closing > config.max_target))


def _fit_block(
    block: EncodedBlock,
    rows: BlockRows,
    columns: Columns,
    fit: Callable[[Row, EncodedRow], Iterable[EncodedRow]],
) -> tuple[EncodedBlock, NDArray[np.int64]]:
    """Replace the long rows of a block by the results of `fit`; also return the index of each row's
    original.
    """
    is_long, numbers = _is_long(block, columns), np.arange(len(rows))
    long = np.flatnonzero(is_long)
    if not len(long):
        return block, numbers
    texts = rows.select(is_long).each()
    pairs = zip(block.source.pick(long).rows(), block.target.pick(long).rows(), strict=True)
    pieces = [
        (owner, piece)
        for owner, row, values in zip(long.tolist(), texts, pairs, strict=True)
        for piece in fit(row, EncodedRow(*values, row.place, row.weight))
    ]
    short = numbers[~is_long]
    fitted = EncodedBlock.of([piece for _, piece in pieces], columns, rows.file)
    owners = np.concatenate([short, np.array([owner for owner, _ in pieces], np.int64)])
    return _sort(block.pick(short).append(fitted), owners)


def _add_recased(
    block: EncodedBlock, owners: NDArray[np.int64], rows: BlockRows, columns: Columns
) -> EncodedBlock:
    """Insert recased copies of rows after their originals."""
    copied, copies = _recase(rows, columns)
    found = _encode_all(copies, columns)

    def fit(row: Row, encoded: EncodedRow) -> Iterator[EncodedRow]:
        fitting = fit_row(row, encoded.source, encoded.target, columns=columns)
        if isinstance(fitting, EncodedRow):
            yield fitting

    found, numbers = _fit_block(found, copies, columns, fit)
    return _sort(block.append(found), np.concatenate([owners, copied[numbers]]))[0]


def _recase(rows: BlockRows, columns: Columns) -> tuple[NDArray[np.int64], BlockRows]:
    """The indices of rows that are recased, and their recased copies."""
    pairs = zip(rows.sources, rows.targets, strict=True)
    copy = columns.recasing.copy if columns.recasing is not None else lambda *pair: None
    found = [(n, other) for n, pair in enumerate(pairs) if (other := copy(*pair)) is not None]
    places = np.array([place for place, _ in found], np.int64)
    sources, targets = [pair[0] for _, pair in found], [pair[1] for _, pair in found]
    lines, weights = rows.lines[places], rows.weights[places]
    return places, BlockRows(sources, targets, lines, weights, rows.file)


def _sort(block: EncodedBlock, owners: NDArray[np.int64]) -> tuple[EncodedBlock, NDArray[np.int64]]:
    order = np.argsort(owners, kind="stable")
    return block.pick(order), owners[order]
