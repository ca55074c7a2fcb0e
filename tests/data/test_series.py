"""Tables over time: columns, times, and what is wrong with them (S1.2)."""

from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig, WindowConfig
from seqloom.data import (
    Report,
    SeriesColumns,
    SeriesTable,
    WindowShape,
    find_windows,
    read_series,
    source_rows,
    split_ranges,
)
from seqloom.data.time_steps import Clock, TimeUnit
from seqloom.errors import DataError

HOURS = [datetime(2026, 3, 1) + timedelta(hours=number) for number in range(12)]


def table(
    place: Path, lines: list[str], *, known: str = "", report: Report | None = None, **data: object
) -> SeriesTable:
    """A CSV file of these lines, read."""
    path = place / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = DataConfig(**{"source": "", "target": "all", **data})
    return read_series(path, config, WindowConfig(known=known), report or Report())


def hourly(changes: dict[int, str] | None = None) -> list[str]:
    """A header and twelve rows of two columns, some of them replaced."""
    rows = [f"{time:%Y-%m-%d %H:%M},{n},{10 * n}" for n, time in enumerate(HOURS)]
    return ["when,a,b", *((changes or {}).get(n, row) for n, row in enumerate(rows))]


def test_columns_and_times_are_found(tmp_path: Path) -> None:
    """The column that tells when is no column to forecast; values are as they are written."""
    found = table(tmp_path, hourly())
    assert found.columns.targets == ("a", "b")
    assert found.time_name == "when"
    assert found.values.tolist() == [[n, 10 * n] for n in range(12)]
    assert found.follows.all()
    assert found.times_after(12, 2) == ("2026-03-01 12:00", "2026-03-01 13:00")
    assert found.lines.tolist() == list(range(2, 14))


def test_what_is_forecast_is_read_first(tmp_path: Path) -> None:
    """Then what else is read, then what is known ahead; each column once."""
    found = table(tmp_path, hourly(), known="a", target="b", source="all")
    assert found.columns == (("b",), (), ("a",))
    found = table(tmp_path, hourly(), target="b", source="all")
    assert found.columns == (("b",), ("a",), ())


def test_rows_without_names_or_times(tmp_path: Path) -> None:
    """Columns are then known by position, and rows by number."""
    found = table(tmp_path, ["1,2", "3,4", "5,6"])
    assert found.columns.targets == ("1", "2")
    assert found.times_after(3, 2) == ("4", "5")


NUMBERED = ["date,1,2,3", "2026-01-01,10,20,30", "2026-01-02,11,21,31"]


@pytest.mark.parametrize("header", ["auto", "yes"])
@pytest.mark.parametrize(
    ("target", "columns", "first"),
    [
        ("all", ("1", "2", "3"), [10, 20, 30]),
        ("3", ("3",), [30]),
        ("2,1", ("2", "1"), [20, 10]),
        ("4", ("3",), [30]),
    ],
)
def test_a_name_that_is_a_number_is_a_name(
    tmp_path: Path, header: str, target: str, columns: tuple[str, ...], first: list[float]
) -> None:
    """The header is one though it has numbers; a position is meant where no column has the name."""
    found = table(tmp_path, NUMBERED, target=target, header=header)
    assert found.columns.targets == columns
    assert found.values[0].tolist() == first
    again = read_series(tmp_path / "t.csv", DataConfig(header=header), found.columns, Report())
    assert again.values.tolist() == found.values.tolist()


@pytest.mark.parametrize("first", ["year,2019,2020", ",0,1", "t,2019,2020"])
def test_a_first_line_with_numbers(tmp_path: Path, first: str) -> None:
    """It holds names where it has no time above times; where there are none, it is a row."""
    rows = ["2001-01,3,4", "2001-02,5,6"]
    names = tuple(first.split(",")[1:])
    assert table(tmp_path, [first, *rows]).columns.targets == names
    assert table(tmp_path, ["2000-12,1,2", *rows]).columns.targets == ("2", "3")
    assert len(table(tmp_path, ["2000-12,1,2", *rows])) == 3
    numbers = [row.replace("2001-0", "") for row in rows]
    if first.startswith("year"):
        assert table(tmp_path, [first, *numbers]).columns.targets == names
    with pytest.raises(DataError, match=r"t\.csv: there is no column 9 among 3 columns"):
        table(tmp_path, [first, *rows], time="9")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """A run knows its columns by name, so no position tells them apart."""
    with pytest.raises(DataError, match="columns 2 and 3 are both named '7'; rename one$"):
        table(tmp_path, ["date,7,7", "2026-01-01,1,2", "2026-01-02,1,2"], target="2")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({3: "2026-03-01 03:00,nan,5"}, "t.csv:5: column 'a' is 'nan', not a finite number"),
        ({3: "2026-03-01 03:00,1,"}, "t.csv:5: column 'b' is empty; fill it in"),
        ({3: "2026-03-01 03:00,1"}, "t.csv:5: expected 3 columns, found 2"),
        ({3: "2026-03-01 06:00,1,2"}, "t.csv:5: column 'when': 2026-03-01 06:00 is 4 hours after"),
        ({3: "2026-03-01 01:00,1,2"}, "t.csv:5: column 'when': 2026-03-01 01:00 is no later than"),
        ({3: "soon,1,2"}, "t.csv:5: column 'when' is 'soon', which is not written as the first"),
    ],
)
def test_bad_rows_are_refused_with_place_and_cure(
    tmp_path: Path, row: dict[int, str], words: str
) -> None:
    """Row, column, cure; --skip-bad counts them, and no window touches them."""
    with pytest.raises(DataError) as refused:
        table(tmp_path, hourly(row))
    assert words in str(refused.value)
    assert str(refused.value).endswith("or pass options={'data': {'skip_bad': True}}")
    report = Report()
    found = table(tmp_path, hourly(row), report=report, skip_bad=True)
    assert report.total_dropped >= 1
    shape = WindowShape(2, 1)
    starts = find_windows(found, shape, range(12)).starts
    whole = found.usable & found.follows
    for start in range(2, 12):
        inside = found.usable[start - 2 : start + 1].all() and whole[start - 1 : start + 1].all()
        assert (start in starts) == inside


BLANK = {0: "", 1: ""}
UNTIMED = {0: ",0,0", 1: ",1,10"}
UNITS = {0: "ISO,MWh,K"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (BLANK, "t.csv:2: the line is blank; remove it"),
        (UNITS, "t.csv:2: column 'a' is 'MWh', not a finite number; fill it in"),
        ({0: "2026-03-01 00:00,1"}, "t.csv:2: expected 3 columns, found 2; mend the row"),
        ({0: "soon,0,0"}, "t.csv:2: column 'when' is 'soon', which is not written as the first"),
        ({0: "inf,0,0"}, "t.csv:2: column 'when' is 'inf', which is not written as the first"),
        (dict.fromkeys(range(12), "1;2;3"), "t.csv:2: expected 3 columns, found 1; mend the row"),
    ],
)
@pytest.mark.parametrize("time", ["", "when"])
def test_rows_before_the_first_time_are_judged_as_any(
    tmp_path: Path, rows: dict[int, str], words: str, time: str
) -> None:
    """By their own faults, whether the column of times is named or found; none has a gap."""
    with pytest.raises(DataError) as refused:
        table(tmp_path, hourly(rows), time=time)
    assert words in str(refused.value)


@pytest.mark.parametrize("rows", [BLANK, UNTIMED, UNITS, {0: "2026-03-01 00:00,1"}])
@pytest.mark.parametrize("time", ["", "when"])
def test_rows_before_the_first_time_are_counted_back(
    tmp_path: Path, rows: dict[int, str], time: str
) -> None:
    """The times that they should have; what else is in the table stays as it was."""
    whole, report = table(tmp_path, hourly()), Report()
    found = table(tmp_path, hourly(rows), time=time, skip_bad=True, report=report)
    assert found.time_name == "when"
    assert found.columns == whole.columns
    assert found.times.tolist() == whole.times.tolist()
    assert found.follows.all()
    assert report.total_dropped == (0 if rows is UNTIMED else len(rows))


def test_a_time_among_numbers_makes_no_column_of_times(tmp_path: Path) -> None:
    """What a column holds is said by its first number or time."""
    with pytest.raises(DataError, match=r"t\.csv:4: column 'b' is '2026-03', not a finite number"):
        table(tmp_path, ["a,b", "1,2", "3,4", "4,2026-03"])
    with pytest.raises(DataError, match=r"t\.csv:2: column 'a' begins with 'x', which is no time"):
        table(tmp_path, ["a,b", "x,2", "y,4"], time="a")


def test_a_gap_has_its_cure(tmp_path: Path) -> None:
    """A missing row is named by what comes after it."""
    with pytest.raises(DataError, match="is 2 hours after the row before, where a step is 1 hour"):
        table(tmp_path, [line for line in hourly() if "05:00" not in line])


@given(
    st.lists(st.booleans(), min_size=12, max_size=40),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 20),
)
def test_windows_cover_what_they_should(
    usable: list[bool], window: int, horizon: int, first: int
) -> None:
    """Against brute force: forecasts lie in the rows, nothing bad is touched, none is missing."""
    count = len(usable)
    rows = range(min(first, count), count)
    found = _made(usable)
    starts = find_windows(found, WindowShape(window, horizon), rows).starts.tolist()
    expected = [
        start
        for start in range(window, count - horizon + 1)
        if start >= rows.start and all(usable[start - window : start + horizon])
    ]
    assert starts == expected


@given(st.integers(10, 200), st.floats(0.05, 0.5))
def test_nothing_held_out_is_learnt_from(count: int, share: float) -> None:
    """No training window reads or forecasts a row that a held-out window forecasts."""
    found, shape = _made([True] * count), WindowShape(3, 2)
    learnt, held_out, _ = split_ranges(found, DataConfig(valid_share=share))
    train = find_windows(found, shape, learnt).starts
    valid = find_windows(found, shape, held_out).starts
    if len(train) and len(valid):
        assert train.max() + shape.horizon <= valid.min()
    assert len(learnt) + len(held_out) == count


def test_the_usual_parts_of_a_year_and_more() -> None:
    """12, 4 and 4 months of hours, horizon 96, window 336: the counts that others report."""
    found, shape = _made([True] * 17_420), WindowShape(336, 96)
    config = DataConfig(parts=(8_640, 2_880, 2_880))
    counts = [len(find_windows(found, shape, rows).starts) for rows in split_ranges(found, config)]
    assert counts == [8_640 - 336 - 96 + 1, 2_880 - 96 + 1, 2_880 - 96 + 1]
    with pytest.raises(DataError, match="ask for less"):
        split_ranges(found, DataConfig(parts=(17_000, 1_000)))


def test_what_is_known_ahead_is_read_a_horizon_early(tmp_path: Path) -> None:
    """At step t the known column is that of step t + horizon, and nothing else is of the future."""
    found = table(tmp_path, hourly(), known="b", target="a")
    rows = source_rows(found, 4)
    assert rows[:8, 1].tolist() == found.values[4:, 1].tolist()
    assert np.isnan(rows[8:, 1]).all()
    assert rows[:, 0].tolist() == found.values[:, 0].tolist()


@pytest.mark.parametrize(
    ("cells", "following"),
    [
        (["2025-11-01", "2025-12-01", "2026-01-01", "2026-02-01"], "2026-03-01"),
        (["2025-12", "2026-01", "2026-02"], "2026-03"),
        (["2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31"], "2024-04-30"),
        (["2024-12-31", "2025-01-31", "2025-02-28"], "2025-03-31"),
        (["31.03.2025", "30.06.2025", "30.09.2025", "31.12.2025"], "31.03.2026"),
        (["2021-02-28", "2022-02-28", "2023-02-28", "2024-02-29"], "2025-02-28"),
        (
            ["2025-09-30 23:59:59", "2025-10-31 23:59:59", "2025-11-30 23:59:59"],
            "2025-12-31 23:59:59",
        ),
        (["9999-09-30", "9999-10-31", "9999-11-30"], "9999-12-31"),
        (["2025-10-16", "2025-11-16", "2025-12-16"], "2026-01-16"),
        (["2026-02-27", "2026-02-28"], "2026-03-01"),
        (["2026-02-28T23:45:00", "2026-03-01T00:00:00"], "2026-03-01T00:15:00"),
        (["31.12.2025", "01.01.2026"], "02.01.2026"),
        (["1999", "2000"], "2001"),
        (["0.5", "0.75"], "1"),
    ],
)
def test_times_go_on_as_they_are_written(cells: list[str], following: str) -> None:
    """Every way of writing is read back, and continued by one step."""
    clock = Clock.of(cells)
    assert clock is not None
    times = np.array([clock.read(cell) for cell in cells])
    assert clock.follows(times).all()
    assert [clock.write(time) for time in times] == [
        cell if "." not in cell or len(cell) > 5 else f"{float(cell):g}" for cell in cells
    ]
    assert clock.write(times[-1] + clock.step) == following


@given(st.dates(date(1000, 1, 1), date(9950, 12, 31)), st.integers(1, 12), st.integers(2, 30))
def test_every_month_end_is_followed_by_another(day: date, months: int, count: int) -> None:
    """Against the calendar: the day after a month's end is the first of a month."""
    ends = [_end_of(12 * day.year + day.month - 1 + months * n) for n in range(count + 3)]
    clock = Clock.of([f"{end:%Y-%m-%d}" for end in ends[:count]])
    assert clock is not None
    last = clock.read(f"{ends[count - 1]:%Y-%m-%d}")
    assert [clock.write(last + n * clock.step) for n in (1, 2, 3)] == [
        f"{end:%Y-%m-%d}" for end in ends[count:]
    ]


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)))
@pytest.mark.parametrize("unit", ["seconds", "months", "month ends"])
def test_every_moment_is_written_as_it_was_read(unit: TimeUnit, moment: datetime) -> None:
    """To the second, in every unit, whether or not it lies on a step."""
    written = f"{moment:%Y-%m-%d %H:%M:%S}"
    clock = Clock("%Y-%m-%d %H:%M:%S", unit, 1.0)
    assert clock.write(clock.read(written)) == written


def test_a_gap_between_month_ends_is_told_in_months(tmp_path: Path) -> None:
    """The last days themselves are no gaps; a missing one is, and so is another day."""
    months = ["time,a", "2023-12-31,1", "2024-01-31,2", "2024-02-29,3", "2024-03-31,4"]
    assert table(tmp_path, months).follows.all()
    words = "column 'time': 2024-05-31 is 2 months after the row before, where a step is 1 month"
    with pytest.raises(DataError, match=rf"t\.csv:6: {words}; fill in the rows between"):
        table(tmp_path, [*months, "2024-05-31,5"])
    with pytest.raises(DataError, match=r"t\.csv:6: column 'time': 2024-04-15 is 0.48"):
        table(tmp_path, [*months, "2024-04-15,5"])


def test_rows_are_counted_where_no_column_is_to_tell_when(tmp_path: Path) -> None:
    """Dates with gaps are passed by; a column of numbers by the name of year is one of numbers."""
    days = ["date,year,a", "2026-01-02,1,5", "2026-01-05,2,6", "2026-01-06,9,7"]
    with pytest.raises(DataError, match="fill in the rows between"):
        table(tmp_path, days)
    found = table(tmp_path, days, time="none")
    assert found.columns.targets == ("year", "a")
    assert found.follows.all()
    assert (found.time_name, *found.times_after(3, 2)) == ("row", "4", "5")


def _end_of(month: int) -> date:
    """The last day of a month that is counted from the year 0."""
    return date((month + 1) // 12, (month + 1) % 12 + 1, 1) - timedelta(days=1)


def _made(usable: list[bool]) -> SeriesTable:
    count = len(usable)
    return SeriesTable(
        file="made.csv",
        columns=SeriesColumns(("a",), (), ()),
        clock=Clock.of_row_numbers(),
        time_name="row",
        times=np.arange(count, dtype=np.float64),
        values=np.where(np.array(usable)[:, None], 1.0, np.nan),
        follows=np.ones(count, np.bool_),
        lines=np.arange(count),
    )
