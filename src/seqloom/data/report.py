"""What was read and what was left out: places, reasons, and the tally of a pass over the data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

from seqloom.errors import DataError, RowError
from seqloom.remedies import FileLocation, Phrase, Setting, either

__all__ = [
    "DropCount",
    "Fault",
    "FileLocation",
    "Reason",
    "Report",
    "dispatch",
    "expand_lines",
    "expand_sound",
    "first_fault",
    "map_lines",
    "map_sound",
    "sound_items",
    "split_faults",
]

Item = TypeVar("Item")
Result = TypeVar("Result")

SHOWN = 5  # labels named in a line


class Reason(StrEnum):
    """Why a row cannot be used."""

    ALIGNMENT = "not one tag for each token or step"
    BLANK = "blank line"
    COLUMNS = "wrong number of columns"
    EMPTY_SOURCE = "empty source"
    EMPTY_TARGET = "empty target"
    ENCODING = "not valid Unicode"
    FUZZY = "fuzzy translation"
    JSON = "not valid JSON"
    LANGUAGE = "no text in a language that is asked for"
    LONG_LINE = "line too long"
    LONG_SOURCE = "more source tokens than data.max_source"
    LONG_TARGET = "more target tokens than data.max_target"
    MISSING = "column missing"
    NUL = "NUL character"
    OBSOLETE = "obsolete entry"
    ORDER = "words out of order"
    OUTSIDE = "file outside of the data's folder"
    QUOTE = "text after a closing quote"
    REPLY = "dialog without a reply"
    TIME = "time that does not follow the one before"
    TURN = "turn that is not text"
    TYPE = "value that is not text"
    UNTRANSLATED = "no translation yet"
    VALUE = "value that its column cannot hold"
    WEIGHT = "weight that is not a number of 0 or more"

    @property
    def is_benign(self) -> bool:
        """Whether such rows are part of a sound file, and passed by however strict one is."""
        return self in {Reason.FUZZY, Reason.LANGUAGE, Reason.OBSOLETE, Reason.UNTRANSLATED}


class Fault(NamedTuple):
    """One row that cannot be used: an error when strict, a count when bad rows are skipped.

    `text` is the line as far as it can be read, for the quotes in it; None where they are unknown.
    """

    reason: Reason
    place: FileLocation
    problem: str
    remedy: Phrase = ""
    text: str | None = ""

    def error(self) -> RowError:
        """What stops a strict reading; such rows can be skipped."""
        skip = Setting("data.skip_bad", True)
        return RowError(self.problem, place=self.place, remedy=either(self.remedy, "pass {}", skip))

    def final_error(self) -> DataError:
        """What stops a reading that cannot do without the row."""
        return DataError(self.problem, place=self.place, remedy=self.remedy)


def map_sound(
    items: Iterable[Item | Fault], change: Callable[[Item], Result | Fault]
) -> Iterator[Result | Fault]:
    """What `change` makes of each item; faults stay as they are."""
    for item in items:
        yield item if isinstance(item, Fault) else change(item)


def expand_sound(
    items: Iterable[Item | Fault], change: Callable[[Item], Iterable[Result | Fault]]
) -> Iterator[Result | Fault]:
    """All that `change` makes of each item; faults stay as they are."""
    for item in items:
        if isinstance(item, Fault):
            yield item
        else:
            yield from change(item)


def map_lines(
    lines: Iterable[str | Fault], file: str, change: Callable[[str, FileLocation], Result | Fault]
) -> Iterator[Result | Fault]:
    """What `change` makes of each line of a file and its place; faults stay as they are."""
    for number, line in enumerate(lines, 1):
        yield line if isinstance(line, Fault) else change(line, FileLocation(file, number))


def expand_lines(
    lines: Iterable[str | Fault],
    file: str,
    change: Callable[[str, FileLocation], Iterable[Result | Fault]],
) -> Iterator[Result | Fault]:
    """All that `change` makes of each line of a file and its place; faults stay as they are."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            yield line
        else:
            yield from change(line, FileLocation(file, number))


def dispatch(
    items: Iterable[Item | Fault], take: Callable[[Item], None], refuse: Callable[[Fault], None]
) -> None:
    """Give each item to `take`, and each fault to `refuse`, in order."""
    for item in items:
        if isinstance(item, Fault):
            refuse(item)
        else:
            take(item)


def split_faults(items: Iterable[Item | Fault]) -> Iterator[tuple[Item | None, Fault | None]]:
    """Each item, or None and the fault that stands in its place."""
    for item in items:
        yield (None, item) if isinstance(item, Fault) else (item, None)


def sound_items(items: Iterable[Item | Fault]) -> Iterator[Item]:
    """The items without the faults."""
    return (item for item in items if not isinstance(item, Fault))


def first_fault(items: Iterable[Item | Fault]) -> Fault | None:
    """The first fault, if there is one."""
    return next((item for item in items if isinstance(item, Fault)), None)


@dataclass(frozen=True)
class DropCount:
    """How many rows one reason cost, and where the first of them is."""

    count: int
    first: FileLocation


@dataclass
class Report:
    """The tally of one pass, filled in while rows are read."""

    kept: int = 0
    dropped: dict[Reason, DropCount] = field(default_factory=dict)
    unseen: Counter[str] = field(default_factory=Counter)
    """Labels or tags of held-out rows that training did not have, and how often each comes."""
    unseen_name: str = "label"

    @property
    def total_dropped(self) -> int:
        """Rows left out, for whatever reason."""
        return sum(each.count for each in self.dropped.values())

    @property
    def defect_count(self) -> int:
        """Rows left out that should be mended."""
        return sum(each.count for reason, each in self.dropped.items() if not reason.is_benign)

    def drop(self, reason: Reason, place: FileLocation) -> None:
        """Count one row that is left out."""
        before = self.dropped.get(reason)
        self.dropped[reason] = (
            DropCount(before.count + 1, before.first) if before else DropCount(1, place)
        )

    def lines(self) -> list[str]:
        """The tally in words, one reason a line, the costliest first."""
        return [
            f"rows kept: {self.kept:,}",
            f"rows dropped: {self.total_dropped:,}",
            *(f"  {reason}" for reason in self._reasons()),
        ]

    def count_line(self) -> str:
        """The rows that count and, where there are any, those that do not and why, in one line."""
        left_out = "; ".join(self._reasons())
        rows = f"{self.kept:,} row{'s' * (self.kept != 1)}"
        return f"{rows}; {self.total_dropped:,} not counted: {left_out}" if left_out else rows

    def unseen_line(self) -> str:
        """The labels that training did not have, in a sentence; empty where there are none."""
        if not self.unseen:
            return ""
        kinds, total = len(self.unseen), self.unseen.total()
        named = ", ".join(f"{name} ({count:,})" for name, count in self.unseen.most_common(SHOWN))
        return (
            f"{kinds:,} {self.unseen_name}{'s' * (kinds > 1)} of the held-out rows "
            f"{'are' if kinds > 1 else 'is'} not in the training data, so {total:,} "
            f"{'cases count' if total > 1 else 'case counts'} as wrong: {named}"
            + ", ..."
            * (kinds > SHOWN)
        )

    def _reasons(self) -> list[str]:
        """How many rows each reason cost, the costliest first."""
        ranked = sorted(self.dropped.items(), key=lambda item: (-item[1].count, item[0]))
        return [f"{each.count:,} × {reason}, first at {each.first}" for reason, each in ranked]
