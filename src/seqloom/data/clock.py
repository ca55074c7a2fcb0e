"""Times in a column: how they are written, what one step is, and what follows the last."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEAD", "Clock", "looks_like_time"]

NAMES = {"date", "time", "datetime", "timestamp", "ds", "day", "month", "year", "hour", "week"}
FORMATS = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
    *("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d", "%Y-%m", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%Y/%m/%d", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y"),
)
NUMBER = "number"
MONTHS = 12
CLOSE = 1e-6  # of a step
HEAD = 100  # cells among which the first that is a time is looked for


@dataclass(frozen=True)
class Clock:
    """How times are written, and one step in the clock's own unit: seconds, months or 1."""

    format: str  # as strftime has it, or NUMBER
    unit: str  # "seconds", "months" or "number"
    step: float

    @classmethod
    def of(cls, cells: Sequence[str]) -> "Clock | None":
        """The clock of a column of times; None where none of the first is a time."""
        form = _first_format(cells)
        if form is None:
            return None
        units = ["number"] if form == NUMBER else ["seconds", "months"]
        found = [cls(form, unit, 1.0) for unit in units]
        steps = [each._usual_step(cells) for each in found]
        shares = [share for _, share in steps]
        best = int(np.argmax(shares))  # the first among equals
        return cls(form, units[best], steps[best][0])

    @classmethod
    def counting(cls) -> "Clock":
        """The clock of rows that have no times: their numbers."""
        return cls(NUMBER, "number", 1.0)

    def read(self, cell: str) -> float:
        """A time in the clock's unit; NaN where it is written otherwise."""
        text = cell.strip()
        if self.format == NUMBER:
            return _number(text)
        moment = _moment(text, self.format)
        if moment is None:
            return math.nan
        if self.unit == "months":
            return MONTHS * moment.year + moment.month - 1 + _within(moment)
        return (moment - EPOCH).total_seconds()

    def write(self, time: float) -> str:
        """The inverse of `read`."""
        if self.format == NUMBER:
            return f"{round(time):d}" if abs(time - round(time)) < CLOSE else f"{time:.10g}"
        if self.unit == "months":
            whole = math.floor(time + CLOSE)
            first = datetime(whole // MONTHS, whole % MONTHS + 1, 1)
            return (first + timedelta(days=31 * max(0.0, time - whole))).strftime(self.format)
        return (EPOCH + timedelta(seconds=round(time, 3))).strftime(self.format)

    def follows(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each time is one step after the one before; the first is."""
        steps = np.abs(np.diff(times) - self.step) <= CLOSE * self.step
        return np.concatenate([[True], steps])

    def span(self, duration: float) -> str:
        """A duration in words."""
        if self.unit != "seconds":
            word = "month" if self.unit == "months" else "step"
            return f"{duration:g} {word}{'s' * (duration != 1)}"
        for name, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if abs(duration) >= seconds:
                count = round(duration / seconds, 4)
                return f"{count:g} {name}{'s' * (count != 1)}"
        return f"{duration:g} second{'s' * (duration != 1)}"

    def _usual_step(self, cells: Sequence[str]) -> tuple[float, float]:
        """The commonest positive difference, and the share of the rows that have it."""
        times = np.array([self.read(cell) for cell in cells])
        steps = np.diff(times)
        steps = np.round(steps[np.isfinite(steps) & (steps > 0)], 6)
        if not len(steps):
            return 1.0, 0.0
        values, counts = np.unique(steps, return_counts=True)
        return float(values[counts.argmax()]), counts.max() / len(steps)


EPOCH = datetime(1970, 1, 1)


def looks_like_time(name: str, cells: Iterable[str]) -> bool:
    """Whether a column of this name tells when, by its first cell that is a time or a number."""
    form = _first_format(cells)
    return form is not None and (form != NUMBER or name.strip().lower() in NAMES)


def _first_format(cells: Iterable[str]) -> str | None:
    found = map(_format, islice(cells, HEAD))
    return next((form for form in found if form is not None), None)


def _format(cell: str) -> str | None:
    text = cell.strip()
    if math.isfinite(_number(text)):
        return NUMBER
    return next((form for form in FORMATS if _moment(text, form) is not None), None)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _moment(text: str, form: str) -> datetime | None:
    try:
        if form.startswith("%Y-%m-%d"):  # ISO, which is read many times faster
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            return moment if moment.strftime(form) == text else None
        return datetime.strptime(text, form)
    except (ValueError, OverflowError):
        return None


def _within(moment: datetime) -> float:
    """How far into its month a moment is, as a part of 31 days."""
    first = datetime(moment.year, moment.month, 1)
    return (moment - first).total_seconds() / (31 * 86_400)
