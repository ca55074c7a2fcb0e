"""The search space of a sweep and its training budget, declared in a TOML file."""

import math
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.config.serialization import check_names, load
from seqloom.errors import ConfigError

__all__ = ["Choice", "Range", "SweepSpace", "load_sweep_space"]

NUMBERS = {"trials": 9, "first": 200, "factor": 3}
MOST_TRIALS = 1_000

Choice = tuple[Any, ...]
"""The values of a categorical option."""


@dataclass(frozen=True)
class Range:
    """A closed interval of numbers; of whole numbers if both bounds are whole."""

    low: float
    high: float
    log: bool = False  # sample on a logarithmic scale

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True)
class SweepSpace:
    """What is tried: `trials` settings for `first` updates each, and every `factor`-th for
    `factor` times as many, and so on to the last."""

    options: Mapping[str, Choice | Range]
    trials: int = NUMBERS["trials"]
    first: int = NUMBERS["first"]
    factor: int = NUMBERS["factor"]

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """For each rung, the number of trials and the update at which it ends."""
        found = [(self.trials, self.first)]
        while found[-1][0] >= self.factor:
            trials, updates = found[-1]
            found.append((trials // self.factor, updates * self.factor))
        return found


def load_sweep_space(path: Path) -> SweepSpace:
    """Read the space from a file; ConfigError names the place of what is wrong."""
    tables = load(path)
    unknown = sorted(tables.keys() - {*NUMBERS, "space"})
    if unknown:
        raise ConfigError(
            f"{reprlib.repr(unknown[0])} is none of {', '.join(NUMBERS)} and [space]",
            place=path,
            remedy="put options to try under [space]",
        )
    numbers = {name: _number(tables, name, path) for name in NUMBERS}
    declared = tables.get("space")
    if not isinstance(declared, Mapping) or not declared:
        raise ConfigError("declares nothing to try", place=path, remedy="add options under [space]")
    options = {name: _values(value, f"{path}: {name}") for name, value in _entries(declared)}
    check_names(options, place=str(path))
    if "training.updates" in options:
        raise ConfigError(
            "training.updates follow from first and factor", place=path, remedy="leave them out"
        )
    return SweepSpace(options, **numbers)


def _number(tables: Mapping[str, Any], name: str, path: Path) -> int:
    value = tables.get(name, NUMBERS[name])
    lowest, highest = (2 if name == "factor" else 1), (MOST_TRIALS if name == "trials" else 10**9)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ConfigError(
            f"{name} = {reprlib.repr(value)}: must be a whole number from {lowest} to {highest:,}",
            place=path,
        )
    return value


def _entries(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The declared values by dotted name; a table with `low` and `high` is a range, others nest."""
    for name, value in table.items():
        if isinstance(value, Mapping) and not {"low", "high"} & value.keys():
            yield from _entries(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _values(value: Any, place: str) -> Choice | Range:
    if isinstance(value, list) and value:
        return tuple(value)
    if not isinstance(value, Mapping) or value.keys() - {"log"} != {"low", "high"}:
        raise ConfigError(
            "write a list of values, or a range such as { low = 1, high = 9 }, with log = true "
            "where sizes count",
            place=place,
        )
    low, high, log = value["low"], value["high"], value.get("log", False)
    ends = [end for end in (low, high) if isinstance(end, int | float)]
    if len(ends) < 2 or not all(map(math.isfinite, ends)) or not low < high:
        raise ConfigError("low must be a number below high", place=place)
    if log and low <= 0:
        raise ConfigError("log = true needs ends above 0", place=place)
    return Range(low, high, bool(log))
