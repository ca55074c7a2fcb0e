"""Data in blocks that several processes can read: rows column by column, thousands at a time.

Lines of TSV and of plain text are parsed by whichever process gets them, all other rows are read
here. What is usable, and what is wrong with a row, is the same as `read_rows` has it.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.memory_rows import Data
from seqloom.data.parts import DataPart, data_parts
from seqloom.data.table import Row, check_records, count_rows, no_rows, part_records, row_items
from seqloom.parallel import take
from seqloom.readers.blocks import TextBlock, text_blocks
from seqloom.readers.line_pairs import LinePairs
from seqloom.readers.lines import Fault, FileLocation
from seqloom.readers.reader import BlockParser, Record, reader_of
from seqloom.readers.report import Report

__all__ = ["BlockRows", "BlockSource", "RowBlock"]

ROWS = 10_000  # of a block that is read here


@dataclass(frozen=True)
class BlockRows:
    """Usable rows of a block, column by column."""

    sources: Sequence[str]
    targets: Sequence[str]
    lines: NDArray[np.int64]
    weights: NDArray[np.float64]
    file: str
    part: int = 0  # of the data that they are in

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "BlockRows":
        """The same rows."""
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
        """Row by row."""
        columns = self.sources, self.targets, self.lines.tolist(), self.weights.tolist()
        for source, target, line, weight in zip(*columns, strict=True):
            yield Row(source, target, FileLocation(self.file, line), weight)

    def select(self, chosen: NDArray[np.bool_]) -> "BlockRows":
        """Some of the rows."""
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
    """A block before it is parsed: lines of one file or of two, or rows and faults."""

    texts: tuple[TextBlock, ...]
    rows: Sequence[Row | Fault]
    share: float  # of the data up to its end; 0 where that is not known
    parser: BlockParser | LinePairs | None = None  # of its lines
    file: str = ""
    part: int = 0  # of the data that it is in


class BlockSource:
    """Cuts data into blocks, and parses them."""

    def __init__(self, data: Data, config: DataConfig, *, rows: int = 0) -> None:
        """`rows` says how many rows a block has, where all of them are to be read here."""
        self._data = data
        self._rows = rows
        self._config = config
        unusual = config.turns or config.columns or config.files or config.arrays or config.weight
        self._is_plain = not unusual

    def blocks(self) -> Iterator[RowBlock]:
        """All blocks in order; DataError where there is no row, usable or not."""
        parts = data_parts(self._data)
        if not parts or self._rows or self._config.lines == "stream" or self._config.arrays:
            yield from self._read_blocks(row_items(self._data, self._config))
            return
        for number, part in enumerate(parts):
            for block in self._part_blocks(part):
                share = (number + block.share) / len(parts)
                yield block._replace(part=number, share=share)

    def _part_blocks(self, part: DataPart) -> Iterator[RowBlock]:
        """The blocks of one table or of two sides."""
        if len(part.files) == 2:
            return self._pair_blocks(*part.files)
        (path,) = part.files
        parser = reader_of(path).block_parser(path, self._config)
        if parser is not None:
            return self._text_blocks(path, parser)
        rows = check_records(part_records(part, self._config), self._config)
        return self._read_blocks(rows)

    def parse(self, block: RowBlock, report: Report) -> BlockRows:
        """The usable rows of a block; others are counted, or are an error, as the options say."""
        clean = self._parse_clean(block) if block.texts and self._is_plain else None
        if clean is not None:
            report.kept += len(clean)
            return clean
        return replace(BlockRows.of(list(self.parse_each(block, report))), part=block.part)

    def parse_each(self, block: RowBlock, report: Report) -> Iterator[Row]:
        """The same row by row."""
        items = check_records(self._records(block), self._config) if block.texts else block.rows
        return count_rows(items, self._config, report)

    def check_any(self, report: Report) -> None:
        """DataError where all blocks together had no usable row."""
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
        """The rows of a block in which nothing needs a closer look; None for any other."""
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

    def _read_blocks(self, items: Iterator[Row | Fault]) -> Iterator[RowBlock]:
        """Rows that are read here."""
        done = 0
        total = 0 if isinstance(self._data, str | Path) else len(self._data)
        while True:
            some, error = take(items, self._rows or ROWS)
            done += len(some)
            if some:
                yield RowBlock((), some, min(1.0, done / total) if total else 0.0)
            if error is not None:
                raise error
            if not some:
                return

    def _text_blocks(self, path: Path, parser: BlockParser) -> Iterator[RowBlock]:
        """Lines of one file; the first are parsed here, until the columns are known."""
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
        """Equally many lines of two files."""
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
    """The first lines of some bytes, and the rest of them."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    end = int(ends[count - 1]) + 1 if len(ends) >= count else len(content)
    return content[:end], content[end:]
