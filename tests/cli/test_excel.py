"""Excel workbooks give what an independent writer put in them; other spreadsheets, a way out."""

import datetime
import math
from pathlib import Path

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from seqloom.readers.excel import sheet_records
from seqloom.readers.lines import Fault
from tests.cli.support import Command
from tests.data.support import read, read_or_refused, sentence


def write(path: Path, rows: list[list[object]], *more: str) -> Path:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    book.save(path)
    return path


def test_cells_come_back_as_text(tmp_path: Path) -> None:
    """Numbers without a trailing .0, dates in ISO form, tabs and line ends as they are."""
    rows: list[list[object]] = [
        ["eins", "one"],
        [2, 2.5],
        [3.0, datetime.datetime(2026, 3, 1)],
        ["a\tb", datetime.datetime(2026, 3, 1, 5, 30)],
        ["x\ny", "ü – 字"],
    ]
    path = write(tmp_path / "pairs.xlsx", rows, "empty sheet")
    assert read(path) == [
        ("eins", "one"),
        ("2", "2.5"),
        ("3", "2026-03-01"),
        ("a\tb", "2026-03-01 05:30:00"),
        ("x\ny", "ü – 字"),
    ]


def test_blank_rows_are_told_with_their_numbers_and_those_at_the_end_are_not(
    tmp_path: Path,
) -> None:
    rows: list[list[object]] = [["a", "b"], [""], [" "], ["c", "d"], [""], [" "]]
    found = list(sheet_records(write(tmp_path / "t.xlsx", rows)))
    assert [each.place.line for each in found] == [1, 2, 3, 4]
    assert [isinstance(each, Fault) for each in found] == [False, True, True, False]


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", [["id", "french", "english"], [1, "un", "one"]])
    assert read(path, source="french", target="english", header="auto") == [("un", "one")]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    """Rows that are short or blank in the middle, several sheets, no rows, and damage."""
    holes = write(tmp_path / "holes.xlsx", [["a", "b"], ["c"], [], ["d", "e"], [None, None], []])
    assert sentence(holes).startswith(f"{holes}:2: the target is empty; fill it in, or pass ")
    assert read(holes, skip_bad=True) == [("a", "b"), ("d", "e")]
    assert "has no sheet with rows" in sentence(write(tmp_path / "none.xlsx", []))
    book = Workbook()
    for sheet in (book.active, book.create_sheet("test")):
        sheet.append(["a", "b"])
    book.save(tmp_path / "two.xlsx")
    assert "has 2 sheets with rows ('Sheet', 'test'); leave one" in sentence(tmp_path / "two.xlsx")
    (tmp_path / "text.xlsx").write_text("a\tb\n")
    assert "is not a whole Excel file" in sentence(tmp_path / "text.xlsx")
    whole = holes.read_bytes()
    for cut in range(0, len(whole), 97):
        (tmp_path / "cut.xlsx").write_bytes(whole[:cut])
        assert isinstance(read_or_refused(tmp_path / "cut.xlsx"), str)


@pytest.mark.parametrize("name", ["old.xls", "open.ods", "mac.numbers"])
def test_other_spreadsheets_are_answered_with_the_way_out(
    name: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"PK\3\4 whatever")
    for arguments in (
        ["check", tmp_path / name],
        ["train", tmp_path / name, "--run", tmp_path / "r"],
    ):
        told = command(*arguments)
        assert (told.code, len(told.err.splitlines()) <= 2) == (3, True)
        assert "save it as CSV (File, Save As or Download, CSV UTF-8)" in told.sentence
    assert not (tmp_path / "r").exists()


def test_a_series_may_be_a_workbook(command: Command, tmp_path: Path) -> None:
    begin = datetime.datetime(2026, 1, 1)
    days = [begin + datetime.timedelta(days=day) for day in range(60)]
    rows: list[list[object]] = [["day", "wave"]]
    rows += [[day, math.sin(number)] for number, day in enumerate(days)]
    path = write(tmp_path / "wave.xlsx", rows)
    assert len(list(sheet_records(path))) == 61
    short = ["--set", "target.horizon=3", "--set", "source.window=10"]
    told = command("check", path, "--target", "wave:series", *short)
    assert told.code == 0
    assert "times: day, every" in told.out
