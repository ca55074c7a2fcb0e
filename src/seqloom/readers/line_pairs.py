"""Parallel text files: line n of one belongs to line n of the other."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.blocks import count_lines
from seqloom.readers.lines import Fault, FileLocation, first_fault
from seqloom.readers.reader import ColumnSelection, Record

__all__ = ["LinePairs"]


@dataclass(frozen=True)
class LinePairs:
    """Two files with equally many lines, and which of them is the source."""

    names: tuple[str, str]
    order: tuple[int, ...]

    @classmethod
    def open(cls, first: Path, second: Path, config: DataConfig) -> "LinePairs":
        """Count the lines of both; DataError where they differ."""
        _check_counts(first, second)
        if config.weight:
            cure = "put all three columns into one TSV file"
            raise DataError(
                f"{first},{second}: two text files have no column for weights", remedy=cure
            )
        names = str(first), str(second)
        return cls(names, ColumnSelection.of(config).find_all(names, f"{first},{second}"))

    @property
    def file(self) -> str:
        """What places of rows are in."""
        return self.names[self.order[0]]

    def changed(self) -> DataError:
        """What is wrong where one file ends before the other after all."""
        problem = f"it or {self.names[1]} changed while being read"
        return DataError(problem, place=self.names[0], remedy="start again")

    def records(
        self, one: Iterable[str | Fault], other: Iterable[str | Fault], number: int = 1
    ) -> Iterator[Record | Fault]:
        """Both lines of each pair, of which the first has this number."""
        for line, texts in enumerate(zip_longest(one, other), number):
            if None in texts:
                raise self.changed()
            record = Record(
                FileLocation(self.file, line), [str(texts[index]) for index in self.order]
            )
            yield first_fault(texts) or record


def _check_counts(first: Path, second: Path) -> None:
    """DataError where one of two files has more lines."""
    counts = count_lines(first), count_lines(second)
    if counts[0] != counts[1]:
        longer, shorter = (first, second) if counts[0] > counts[1] else (second, first)
        more, fewer = max(counts), min(counts)
        raise DataError(
            f"has {more:,} line{'s' * (more != 1)} where {shorter} has {fewer:,}",
            place=longer,
            remedy="find the first line that does not match and mend it",
        )
