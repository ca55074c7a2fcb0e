"""CoNLL: one word per line, in unnamed columns separated by tabs or spaces."""

from collections.abc import Iterable, Iterator

from seqloom.errors import DataError
from seqloom.readers.lines import Fault, FileLocation, Reason, map_lines
from seqloom.readers.reader import READERS, ColumnSelection, Record
from seqloom.readers.sentences import Line, TagsReader, TokenLine, sentence_rows

__all__ = ["ConllReader"]


@READERS.part("conll")
@READERS.part("bio")
@READERS.part("iob")
@READERS.part("iob2")
@READERS.part("tagged")
class ConllReader(TagsReader):
    """Reads files of plain columns."""

    def sentences(
        self, lines: Iterable[str | Fault], wanted: ColumnSelection, file: str
    ) -> Iterator[Record | Fault]:
        """The sentences of a file, whose columns are asked for by position."""
        if wanted.column_by_name is not None:
            raise DataError(
                f"its columns have no names, so there is no {wanted.column_by_name!r}",
                place=file,
                remedy="ask by position",
            )
        return sentence_rows(
            _column_words(lines, file),
            lambda first: wanted.find_all([""] * len(first.cells), first.place),
        )


def _column_words(lines: Iterable[str | Fault], file: str) -> Iterator[TokenLine | Fault | None]:
    width = 0

    def read(line: str, place: FileLocation) -> Line:
        nonlocal width
        if not line.strip():
            return None
        cells = line.split("\t") if "\t" in line else line.split()
        width = width or len(cells)
        if len(cells) != width:
            problem = f"expected {width} columns, found {len(cells)}"
            return Fault(Reason.COLUMNS, place, problem, "give each word one tag")
        return TokenLine(place, cells)

    return map_lines(lines, file, read)
