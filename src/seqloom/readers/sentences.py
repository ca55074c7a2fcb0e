"""Files with one word per line and blank lines between sentences.

A sentence becomes one row of space-separated words and tags (S1.1). A space inside a word becomes a
no-break space, so that words and tags still match.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

from seqloom.config import DataConfig
from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, Reason, split_faults, text_lines
from seqloom.readers.reader import ColumnSelection, FileReader, Record

__all__ = ["Line", "TagsReader", "TokenLine", "sentence_rows"]

NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class TokenLine:
    """The cells of one line."""

    place: FileLocation
    cells: list[str]


Line = TokenLine | Fault | None
"""None where a sentence ends."""


class TagsReader(FileReader):
    """Base of readers of files with one tagged word per line."""

    has_tags: ClassVar[bool] = True

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """A row for each sentence."""
        if config.weight:
            raise DataError("has no column for weights", place=path, remedy="leave data.weight out")
        lines = text_lines(path, max_line=config.max_line)
        return self.sentences(lines, ColumnSelection.of(config), str(path))

    @abstractmethod
    def sentences(
        self, lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
    ) -> Iterator[Record | Fault]:
        """The sentences of a file's lines."""


def sentence_rows(
    words: Iterable[TokenLine | Fault | None], columns: Callable[[TokenLine], Sequence[int]]
) -> Iterator[Record | Fault]:
    """A row for each sentence, at the line of its first word; a faulty line spoils its sentence.

    `columns` tells from the first word which cells are wanted.
    """
    chosen: Sequence[int] = ()
    sentence: list[TokenLine] = []
    fault: Fault | None = None
    for word, wrong in split_faults(chain(words, [None])):
        if wrong is not None:
            fault = fault or wrong
        elif word is not None:
            chosen = chosen or columns(word)
            sentence.append(word)
        else:
            if fault is not None or sentence:
                yield fault or _record(sentence, chosen)
            sentence, fault = [], None


def _record(sentence: list[TokenLine], chosen: Sequence[int]) -> Record | Fault:
    for word in sentence:
        if not all(word.cells[index].strip() for index in chosen):
            return Fault(Reason.MISSING, word.place, "a cell is empty", "fill it in")
    columns = ([word.cells[index].strip() for word in sentence] for index in chosen)
    texts = [" ".join(cell.replace(" ", NO_BREAK) for cell in column) for column in columns]
    return Record(sentence[0].place, texts)
