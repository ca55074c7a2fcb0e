"""What became of the rows of one reading: kept, left out and why, truncated, split."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seqloom.readers.lines import FileLocation, Reason

__all__ = ["DropCount", "Report"]

SHOWN = 5  # labels named in a line


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
    fitted: Counter[str] = field(default_factory=Counter)
    """Rows that were too long and are used all the same, by what was done: truncated or split."""

    @property
    def total_dropped(self) -> int:
        """Rows left out, for whatever reason."""
        return sum(each.count for each in self.dropped.values())

    @property
    def has_changes(self) -> bool:
        """Whether any row was left out, truncated or split."""
        return self.total_dropped + self.fitted.total() > 0

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
        """Take in the tally of rows that come after these."""
        self.kept += other.kept
        self.unseen.update(other.unseen)
        self.unseen_name = other.unseen_name if other.unseen else self.unseen_name
        self.fitted.update(other.fitted)
        for reason, found in other.dropped.items():
            before = self.dropped.get(reason)
            first = before.first if before else found.first
            self.dropped[reason] = DropCount(found.count + (before.count if before else 0), first)

    def lines(self) -> list[str]:
        """The tally in words, one reason a line, the costliest first."""
        return [
            f"rows kept: {self.kept:,}",
            f"rows dropped: {self.total_dropped:,}",
            *(f"  {reason}" for reason in self._reasons()),
            *(f"rows {done}: {count:,}" for done, count in self.fitted.items() if count),
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
