"""Spreadsheets: Excel's .xlsx through openpyxl; for other formats an error says how to
export them.
"""

import datetime
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from seqloom.config import DataConfig
from seqloom.errors import ConfigError, DataError
from seqloom.readers.delimited import row_record, select_cells
from seqloom.readers.lines import Fault, FileLocation
from seqloom.readers.reader import READERS, FileReader, Record

__all__ = ["ExcelReader", "OtherSpreadsheetReader", "sheet_records"]

EXPORT = "save it as CSV (File, Save As or Download, CSV UTF-8) and give that file"
DAMAGE = (BadZipFile, ParseError, KeyError, ValueError, TypeError, AttributeError, OSError)


@READERS.part("xlsx")
@READERS.part("xlsm")
class ExcelReader(FileReader):
    """Reads the only nonempty sheet of an Excel workbook."""

    row_unit: ClassVar[str] = "rows"

    def records(self, path: Path, config: DataConfig) -> Iterator[Record | Fault]:
        """The wanted cells of each row."""
        return select_cells(sheet_records(path), config, cure="fill in or remove the other cells")

    def preview(self, path: Path) -> Iterator[Record | Fault]:
        """All cells of each row."""
        return sheet_records(path)

    def count_rows(self, path: Path) -> int:
        """The number of rows of the sheet."""
        return sum(1 for _ in sheet_records(path))


@READERS.part("xls")
@READERS.part("xlsb")
@READERS.part("ods")
@READERS.part("numbers")
class OtherSpreadsheetReader(FileReader):
    """Refuses other formats, with a remedy."""

    def records(self, path: Path, config: DataConfig) -> NoReturn:
        """DataError, always."""
        raise DataError("spreadsheets of this kind are not read", place=str(path), remedy=EXPORT)


def sheet_records(path: Path) -> Iterator[Record | Fault]:
    """The rows of the only sheet that has cells, as wide as the first; blank rows at its end are
    not there."""
    width = blank = 0  # cells of the first row, and blank rows since the last that was not
    for number, cells in _sheet_rows(path):
        record = row_record(FileLocation(str(path), number), cells or [""])
        if isinstance(record, Fault):
            blank += 1
            continue
        for skipped in range(number - blank, number):
            yield row_record(FileLocation(str(path), skipped), [""])
        blank = 0
        width = width or len(cells)
        yield record._replace(cells=[*cells, *[""] * (width - len(cells))])


def _sheet_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of each row from 1, and its cells up to the last that is filled."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigError(
            "Excel files are read by openpyxl, which is not installed",
            place=str(path),
            remedy=f"pip install 'seqloom[excel]', or {EXPORT}",
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and filters, which are not read
            book = load_workbook(path, read_only=True, data_only=True)
        with closing(book):
            sheet = _only_sheet(path, book)
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                cells = [_text(value) for value in row]
                while cells and not cells[-1]:
                    cells.pop()
                yield number, cells
    except DAMAGE as error:
        problem = f"is not a whole Excel file ({error})"
        raise DataError(problem, place=str(path), remedy=EXPORT) from None


def _only_sheet(path: Path, book: Any) -> Any:
    """The sheet that has cells; which of several is meant cannot be guessed."""
    filled = [sheet for sheet in book.worksheets if _has_cells(sheet)]
    if len(filled) == 1:
        return filled[0]
    if not filled:
        raise DataError("has no sheet with rows", place=str(path), remedy="give it some")
    names = ", ".join(repr(sheet.title) for sheet in filled)
    raise DataError(
        f"has {len(filled)} sheets with rows ({names})",
        place=str(path),
        remedy=f"leave one, or open the right one and {EXPORT}",
    )


def _has_cells(sheet: Any) -> bool:
    return any(value is not None for row in sheet.iter_rows(values_only=True) for value in row)


def _text(value: object) -> str:
    """A cell as a CSV file would have it."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        whole = value.time() == datetime.time()
        return value.date().isoformat() if whole else value.isoformat(sep=" ")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
