"""Tables of plain text: the first line may name the columns, and fixes how many there are."""

from collections.abc import Iterable, Iterator

from seqloom.config import DataConfig
from seqloom.data.columns import ColumnSelection, Header
from seqloom.data.readers.reader import Record
from seqloom.data.report import Fault, FileLocation, Reason, expand_sound
from seqloom.errors import DataError

__all__ = ["row_record", "select_cells"]


def select_cells(
    records: Iterable[Record | Fault], config: DataConfig, *, cure: str
) -> Iterator[Record | Fault]:
    """The wanted cells of each record; the first one fixes how many cells there are.

    `cure` is what to do about a row that has another number of them.
    """
    selector = _CellSelector(ColumnSelection.of(config), cure)
    empty = True
    for each in expand_sound(records, selector.select):
        empty = False
        yield each
    if empty:
        selector.check_rows()


class _CellSelector:
    """Picks cells as the first record settles it."""

    def __init__(self, wanted: ColumnSelection, cure: str) -> None:
        self._wanted = wanted
        self._cure = cure
        self._header: Header | None = None
        self._file = ""

    def select(self, record: Record) -> Iterator[Record | Fault]:
        """The wanted cells, unless the record names the columns."""
        place, cells = record
        header = self._header
        if header is None:
            header = self._header = Header.from_first_line(self._wanted, cells, place)
            self._file = place.file
            if header.names:
                return
        if len(cells) != header.width:
            problem = f"expected {header.width} columns, found {len(cells)}"
            yield Fault(Reason.COLUMNS, place, problem, self._cure)
        else:
            yield Record(place, [cells[column] for column in header.columns])

    def check_rows(self) -> None:
        """DataError where nothing but a header was read."""
        if self._header is not None and self._header.names:
            raise DataError(
                "holds a header and no rows", place=self._file, remedy="add rows below it"
            )


def row_record(place: FileLocation, cells: list[str]) -> Record | Fault:
    """The record of a row; the fault of one that is blank."""
    if len(cells) == 1 and not cells[0].strip():
        return Fault(Reason.BLANK, place, "the line is blank", "remove it")
    return Record(place, cells)
