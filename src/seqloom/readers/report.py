"""Counts of rows of one pass: kept, dropped by reason, truncated, split."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seqloom.readers.lines import FileLocation, Reason

__all__ = ["DropCount", "Report"]

SHOWN = 5  # labels named in a line


@dataclass(frozen=True)
class DropCount:
    """The number of rows dropped for a reason, and the place of the first."""

    count: int
    first: FileLocation


@dataclass
class Report:
    """The counts of one pass, updated while rows are read."""

    kept: int = 0
    dropped: dict[Reason, DropCount] = field(default_factory=dict)
    unseen: Counter[str] = field(default_factory=Counter)
    """Labels or tags of held-out rows that training did not have, and how often each comes."""
    unseen_name: str = "label"
    fitted: Counter[str] = field(default_factory=Counter)
    """Rows that were too long and are used all the same, by what was done: truncated or split."""

    @property
    def total_dropped(self) -> int:
        """All dropped rows."""
        return sum(each.count for each in self.dropped.values())

    @property
    def has_changes(self) -> bool:
        """Whether any row was dropped, truncated or split."""
        return self.total_dropped + self.fitted.total() > 0

    @property
    def defect_count(self) -> int:
        """Dropped rows with a defect."""
        return sum(each.count for reason, each in self.dropped.items() if not reason.is_benign)

    def drop(self, reason: Reason, place: FileLocation) -> None:
        """Count a dropped row."""
        before = self.dropped.get(reason)
        self.dropped[reason] = (
            DropCount(before.count + 1, before.first) if before else DropCount(1, place)
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        dropped = {reason: (each.count, *each.first) for reason, each in self.dropped.items()}
        plain = {"kept": self.kept, "unseen_name": self.unseen_name, "dropped": dropped}
        return {**plain, "unseen": dict(self.unseen), "fitted": dict(self.fitted)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Report":
        """The inverse of `as_dict`."""
        dropped = {
            Reason(reason): DropCount(count, FileLocation(file, line))
            for reason, (count, file, line) in values["dropped"].items()
        }
        counts = Counter(values["unseen"]), values["unseen_name"], Counter(values["fitted"])
        return cls(values["kept"], dropped, *counts)

    def add(self, other: "Report") -> None:
        """Add the counts of later rows."""
        self.kept += other.kept
        self.unseen.update(other.unseen)
        self.unseen_name = other.unseen_name if other.unseen else self.unseen_name
        self.fitted.update(other.fitted)
        for reason, found in other.dropped.items():
            before = self.dropped.get(reason)
            first = before.first if before else found.first
            self.dropped[reason] = DropCount(found.count + (before.count if before else 0), first)

    def lines(self) -> list[str]:
        """The counts as text, one reason per line, most frequent first."""
        return [
            f"rows kept: {self.kept:,}",
            f"rows dropped: {self.total_dropped:,}",
            *(f"  {reason}" for reason in self._reasons()),
            *(f"rows {done}: {count:,}" for done, count in self.fitted.items() if count),
        ]

    def count_line(self) -> str:
        """The kept rows and, if any, the dropped ones by reason, in one line."""
        left_out = "; ".join(self._reasons())
        rows = f"{self.kept:,} row{'s' * (self.kept != 1)}"
        return f"{rows}; {self.total_dropped:,} not counted: {left_out}" if left_out else rows

    def unseen_line(self) -> str:
        """A sentence on labels unseen in training; empty if there are none."""
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
        """Dropped rows by reason, most frequent first."""
        ranked = sorted(self.dropped.items(), key=lambda item: (-item[1].count, item[0]))
        return [f"{each.count:,} × {reason}, first at {each.first}" for reason, each in ranked]
