"""Blocks of rows by column, thousands at a time, for parallel processing.

Worker processes parse lines of TSV and of plain text; all other rows are read here. Validation and
error messages are those of `read_rows`.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data
from seqloom.data.parts import DataPart, data_parts
from seqloom.data.table import Row, check_records, count_rows, no_rows, part_items, row_items
from seqloom.data.table_windows import check_windows
from seqloom.parallel import take
from seqloom.readers.blocks import TextBlock, text_blocks
from seqloom.readers.line_pairs import LinePairs
from seqloom.readers.lines import Fault, FileLocation
from seqloom.readers.reader import BlockParser, Record, reader_of
from seqloom.readers.report import Report

__all__ = ["BEGINNING", "ROWS", "BlockCount", "BlockRows", "BlockSource", "RowBlock"]

ROWS = 10_000  # rows per block read here


@dataclass(frozen=True)
class BlockRows:
    """The usable rows of a block, by column."""

    sources: Sequence[str]
    targets: Sequence[str]
    lines: NDArray[np.int64]
    weights: NDArray[np.float64]
    file: str
    part: int = 0  # the part of the data that they belong to

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "BlockRows":
        """Convert rows to columns."""
        return cls(
            [row.source for row in rows],
            [row.target for row in rows],
            np.fromiter((row.place.line for row in rows), np.int64, len(rows)),
            np.fromiter((row.weight for row in rows), np.float64, len(rows)),
            rows[0].place.file if rows else "",
        )

    def __len__(self) -> int:
        return len(self.lines)

    def each(self) -> Iterator[Row]:
        """Iterate over rows."""
        columns = self.sources, self.targets, self.lines.tolist(), self.weights.tolist()
        for source, target, line, weight in zip(*columns, strict=True):
            yield Row(source, target, FileLocation(self.file, line), weight)

    def select(self, chosen: NDArray[np.bool_]) -> "BlockRows":
        """Select rows."""
        places = np.flatnonzero(chosen).tolist()
        return BlockRows(
            [self.sources[place] for place in places],
            [self.targets[place] for place in places],
            self.lines[chosen],
            self.weights[chosen],
            self.file,
            self.part,
        )


class RowBlock(NamedTuple):
    """A block before parsing: lines of one file or of two, or rows and faults."""

    texts: tuple[TextBlock, ...]
    rows: Sequence[Row | Fault]
    share: float  # share of the data's bytes up to the end of the block; 0 if unknown
    parser: BlockParser | LinePairs | None = None  # parses its lines
    file: str = ""
    part: int = 0  # the part of the data that it belongs to


class BlockCount(NamedTuple):
    """The progress of a pass over data: the current part, and its number of completed blocks."""

    part: int = 0
    blocks: int = 0

    def after(self, part: int) -> "BlockCount":
        """The progress after one more block, of this part."""
        return BlockCount(part, self.blocks + 1 if part == self.part else 1)


BEGINNING = BlockCount()


class BlockSource:
    """Splits data into blocks, and parses them."""

    def __init__(self, data: Data, config: DataConfig, *, rows: int = 0) -> None:
        """`rows` is the size of a block, if all rows are to be read here."""
        self._data = data
        self._rows = rows
        self._config = config
        unusual = config.turns or config.columns or config.files or config.arrays or config.weight
        self._is_plain = not unusual

    def blocks(self, done: BlockCount = BEGINNING) -> Iterator[RowBlock]:
        """All blocks in order except completed ones; DataError if there is no row at all."""
        parts = data_parts(self._data)
        check_windows(self._config)
        if isinstance(self._data, str | Path):
            sizes = [sum(path.stat().st_size for path in part.files) for part in parts]
        else:
            blocks = self._read_blocks(row_items(self._data, self._config), self._share_of_rows)
            yield from islice(blocks, done.blocks, None)
            return
        for number, part in enumerate(parts[done.part :], done.part):
            skipped = done.blocks if number == done.part else 0
            for block in islice(self._part_blocks(part), skipped, None):
                share = (sum(sizes[:number]) + block.share * sizes[number]) / max(1, sum(sizes))
                yield block._replace(part=number, share=share if block.share else 0.0)

    def _part_blocks(self, part: DataPart) -> Iterator[RowBlock]:
        """The blocks of one table or of two sides."""
        path, config = part.files[0], self._config
        if not (self._rows or config.lines == "stream" or config.arrays):
            if len(part.files) == 2:
                return self._pair_blocks(*part.files)
            parser = reader_of(path).block_parser(path, config)
            if parser is not None:
                return self._text_blocks(path, parser)
        share = partial(reader_of(path).share_read, path)
        return self._read_blocks(part_items(part, config), share)

    def _share_of_rows(self, done: int) -> float:
        """The share of the rows in memory that are done."""
        total = 0 if isinstance(self._data, str | Path) else len(self._data)
        return min(1.0, done / total) if total else 0.0

    def parse(self, block: RowBlock, report: Report) -> BlockRows:
        """Parse the usable rows of a block; count others or raise an error, by the options."""
        clean = self._parse_clean(block) if block.texts and self._is_plain else None
        if clean is not None:
            report.kept += len(clean)
            return clean
        return replace(BlockRows.of(list(self.parse_each(block, report))), part=block.part)

    def parse_each(self, block: RowBlock, report: Report) -> Iterator[Row]:
        """Parse the rows of a block one by one."""
        items = check_records(self._records(block), self._config) if block.texts else block.rows
        return count_rows(items, self._config, report)

    def check_any(self, report: Report) -> None:
        """Raise DataError if no block had a usable row."""
        if not report.kept:
            raise no_rows(self._data, report)

    def _records(self, block: RowBlock) -> Iterator[Record | Fault]:
        most, first = self._config.max_line, block.texts[0].first
        if isinstance(block.parser, LinePairs):
            sides = zip(block.texts, block.parser.names, strict=True)
            one, other = (text.lines(name, max_line=most) for text, name in sides)
            return block.parser.records(one, other, first)
        if block.parser is None:
            return iter(())
        return block.parser.records(block.texts[0].lines(block.file, max_line=most), first)

    def _parse_clean(self, block: RowBlock) -> BlockRows | None:
        """Parse a block by the fast path; None if some row needs the slow one."""
        sides = [text.clean_lines(max_line=self._config.max_line) for text in block.texts]
        lines = [side for side in sides if side is not None]
        if len(lines) != len(sides):
            return None
        if isinstance(block.parser, LinePairs):
            equal = len(lines[0]) == len(lines[1])
            cells = [lines[index] for index in block.parser.order] if equal else None
        else:
            cells = block.parser.clean_cells(lines[0]) if block.parser is not None else None
        if cells is None or not all(all(map(str.strip, column)) for column in cells):
            return None
        count = len(cells[-1])
        numbers = np.arange(block.texts[0].first, block.texts[0].first + count)
        sources = cells[0] if len(cells) > 1 else [""] * count
        return BlockRows(sources, cells[-1], numbers, np.ones(count), block.file, block.part)

    def _read_blocks(
        self, items: Iterator[Row | Fault], share: Callable[[int], float]
    ) -> Iterator[RowBlock]:
        """Blocks of rows read here; `share` is a function from their number to the share of the
        data.
        """
        done = 0
        while True:
            some, error = take(items, self._rows or ROWS)
            done += len(some)
            if some:
                yield RowBlock((), some, share(done))
            if error is not None:
                raise error
            if not some:
                return

    def _text_blocks(self, path: Path, parser: BlockParser) -> Iterator[RowBlock]:
        """Blocks of lines of one file; the first are parsed here to determine the columns."""
        empty = True
        for block in text_blocks(path, max_line=self._config.max_line):
            if parser.is_ready:
                yield RowBlock((block,), (), block.share, parser, str(path))
                empty = False
                continue
            records = self._records(RowBlock((block,), (), 0.0, parser, str(path)))
            items, error = take(check_records(records, self._config), sys.maxsize)
            empty = empty and not items
            yield RowBlock((), items, block.share)
            if error is not None:
                raise error
        if empty:
            parser.check_rows()

    def _pair_blocks(self, first: Path, second: Path) -> Iterator[RowBlock]:
        """Blocks of equally many lines of two files."""
        pairs = LinePairs.open(first, second, self._config)
        others = text_blocks(second, max_line=self._config.max_line)
        rest = b""
        for block in text_blocks(first, max_line=self._config.max_line):
            count = block.line_count
            while rest.count(b"\n") < count and (more := next(others, None)) is not None:
                rest += more.content
            own, rest = _cut_lines(rest, count)
            both = block, TextBlock(own, block.first, 0.0)
            yield RowBlock(both, (), block.share, pairs, pairs.file)
        if rest or next(others, None) is not None:
            raise pairs.changed()


def _cut_lines(content: bytes, count: int) -> tuple[bytes, bytes]:
    """Split bytes after `count` lines."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    end = int(ends[count - 1]) + 1 if len(ends) >= count else len(content)
    return content[:end], content[end:]
