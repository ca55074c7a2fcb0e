"""Times in a column: their format, their step, and the times after the last."""

import math
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEAD", "Clock", "TimeUnit", "is_time_header", "looks_like_time"]

NAMES = {"date", "time", "datetime", "timestamp", "ds", "day", "month", "year", "hour", "week"}
FORMATS = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
    *("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%Y/%m/%d", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y"),
)
NUMBER = "number"
TimeUnit = Literal["seconds", "months", "month ends", "number"]
DATE_UNITS: tuple[TimeUnit, ...] = ("seconds", "months", "month ends")
MONTHS = 12  # in a year
LONGEST = 31 * 86_400  # longest month in seconds
CLOSE = 1e-6  # tolerance, in steps
HEAD = 100  # cells searched for the first time


@dataclass(frozen=True)
class Clock:
    """A time format, and the clock's unit: seconds, months or 1.

    Months are counted from their first days, or from their last, of any number.
    """

    format: str  # as in strftime, or NUMBER
    unit: TimeUnit
    step: float

    @classmethod
    def of(cls, cells: Sequence[str]) -> "Clock | None":
        """Detect the clock of a column; None if its first cells are not times.

        The unit is that in which most rows are one step apart; among equals months, if all rows
        have first days or all have last days, and else the first.
        """
        form = _first_format(cells)
        if form is None:
            return None
        if form == NUMBER:
            return cls(form, "number", _usual_step(np.array([*map(_number, cells)])).step)
        moments = [moment for cell in cells if (moment := _moment(cell, form)) is not None]
        times = {
            unit: np.array([_to_number(each, unit) for each in moments]) for unit in DATE_UNITS
        }
        usual = {unit: _usual_step(times[unit]) for unit in DATE_UNITS}
        whole = {unit: unit != "seconds" and not (times[unit] % 1).any() for unit in DATE_UNITS}
        best = max(DATE_UNITS, key=lambda unit: (usual[unit].share, whole[unit]))
        return cls(form, best, usual[best].step)

    @classmethod
    def of_row_numbers(cls) -> "Clock":
        """The clock of rows without times: their numbers."""
        return cls(NUMBER, "number", 1.0)

    def read(self, cell: str) -> float:
        """Parse a time in the clock's unit; NaN if it has another format."""
        if self.format == NUMBER:
            return _number(cell)
        moment = _moment(cell, self.format)
        return math.nan if moment is None else _to_number(moment, self.unit)

    def write(self, time: float) -> str:
        """The inverse of `read`."""
        if self.format == NUMBER:
            return f"{round(time):d}" if abs(time - round(time)) < CLOSE else f"{time:.10g}"
        if self.unit == "seconds":
            return (EPOCH + timedelta(seconds=round(time, 3))).strftime(self.format)
        whole, rest = divmod(round(time * LONGEST), LONGEST)
        start = _first(whole) if self.unit == "months" else _end(whole - 1)
        return (start + timedelta(seconds=rest)).strftime(self.format)

    def follows(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each time is one step after the previous one; true for the first."""
        steps = np.abs(np.diff(times) - self.step) <= CLOSE * self.step
        return np.concatenate([[True], steps])

    def span(self, duration: float) -> str:
        """A duration in words."""
        if self.unit != "seconds":
            word = "step" if self.unit == "number" else "month"
            return f"{duration:g} {word}{'s' * (duration != 1)}"
        for name, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if abs(duration) >= seconds:
                count = round(duration / seconds, 4)
                return f"{count:g} {name}{'s' * (count != 1)}"
        return f"{duration:g} second{'s' * (duration != 1)}"


EPOCH = datetime(1970, 1, 1)


def looks_like_time(name: str, cells: Iterable[str]) -> bool:
    """Whether a column of this name holds times, by its first cell that is a time or a number."""
    form = _first_format(cells)
    return form is not None and (form != NUMBER or name.strip().lower() in NAMES)


def is_time_header(name: str, cells: Iterable[str]) -> bool:
    """Whether a cell is the header of a time column."""
    return _format(name) is None and looks_like_time(name, cells)


def _first_format(cells: Iterable[str]) -> str | None:
    found = map(_format, islice(cells, HEAD))
    return next((form for form in found if form is not None), None)


def _format(cell: str) -> str | None:
    if math.isfinite(_number(cell)):
        return NUMBER
    return next((form for form in FORMATS if _moment(cell, form) is not None), None)


class _UsualStep(NamedTuple):
    """The most frequent positive difference, and the share of rows with it."""

    step: float
    share: float


def _usual_step(times: NDArray[np.float64]) -> _UsualStep:
    steps = np.diff(times)
    steps = np.round(steps[np.isfinite(steps) & (steps > 0)], 6)
    if not len(steps):
        return _UsualStep(1.0, 0.0)
    values, counts = np.unique(steps, return_counts=True)
    return _UsualStep(float(values[counts.argmax()]), float(counts.max() / len(steps)))


def _to_number(moment: datetime, unit: TimeUnit) -> float:
    """A moment in a unit of dates."""
    if unit == "seconds":
        return (moment - EPOCH).total_seconds()
    within = _month_fraction if unit == "months" else _since_end
    return MONTHS * moment.year + moment.month - 1 + within(moment)


def _number(cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _moment(cell: str, form: str) -> datetime | None:
    text = cell.strip()
    try:
        if form.startswith("%Y-%m-%d"):  # ISO format, for which parsing is much faster
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            return moment if moment.strftime(form) == text else None
        return datetime.strptime(text, form)
    except (ValueError, OverflowError):
        return None


def _first(month: int) -> datetime:
    """The first day of a month, counted from the year 0."""
    return datetime(month // MONTHS, month % MONTHS + 1, 1)


def _end(month: int) -> datetime:
    """The last day of a month, counted from the year 0."""
    first = _first(month)
    return first.replace(day=monthrange(first.year, first.month)[1])


def _month_fraction(moment: datetime) -> float:
    """How far a moment is into its month, as a fraction of 31 days."""
    first = datetime(moment.year, moment.month, 1)
    return (moment - first).total_seconds() / LONGEST


def _since_end(moment: datetime) -> float:
    """How far a moment is after the end of the previous month; on the last day of its own month, 1
    more.
    """
    last = monthrange(moment.year, moment.month)[1]
    if moment.day == last:
        return 1 + _month_fraction(moment.replace(day=1))
    return 86_400 / LONGEST + _month_fraction(moment)
