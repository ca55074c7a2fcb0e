"""Time series: the input window and the forecast (S1.2)."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.config.columns import COLUMNS, SeriesConfig, column_names
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.fields.field_files import FACTS, PersistentField
from seqloom.fields.items import Series, Values
from seqloom.fields.numbers import parse_numbers, scales, write_numbers
from seqloom.tokenizers.specials import FieldState

__all__ = ["SeriesBaseline", "SeriesField", "column_names"]

Table = NDArray[np.float64]


@dataclass(frozen=True)
class SeriesBaseline:
    """Parameters of baseline forecasts, from the training rows."""

    season: int  # season in steps; 1 without one
    linear: NDArray[
        np.float32
    ]  # (window, horizon): a linear map from a window minus its last value to the forecast
    naive_error: tuple[float, ...] = ()  # (C,) standardised: mean |row − row a season before|

    @property
    def naive_period(self) -> int:
        """The period of the naive forecast: a season, or as much of one as a window holds."""
        return min(self.season, len(self.linear))


@COLUMNS.part("series")
class SeriesField(PersistentField[SeriesConfig]):
    """A field of time steps with a standardized number from each column."""

    def __init__(
        self,
        config: SeriesConfig,
        names: Sequence[str],
        scale: tuple[Table, Table],
        past: SeriesBaseline | None = None,
    ) -> None:
        """Use `from_rows` or `restore`; `past` is the baseline of a target."""
        self.config = config
        self.names = tuple(names)
        self.mean, self.spread = scale
        self.past = past

    @classmethod
    def from_rows(cls, config: SeriesConfig, names: Sequence[str], rows: Table) -> Self:
        """Compute the mean and the standard deviation (1 if constant) of each column."""
        return cls(config, names, scales(rows))

    @classmethod
    def learn(cls, config: SeriesConfig, cells: Iterable[str], *, seed: int) -> Self:
        """A series is learnt from a table and not from cells."""
        raise ConfigError(
            "a series goes with series alone", remedy="give source and target that kind"
        )

    @classmethod
    def restore(cls, config: SeriesConfig, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts."""
        try:
            mean, spread = (np.array(facts[name], np.float64) for name in ("mean", "spread"))
            names = [str(name) for name in facts["names"]]
            past = _parse_baseline(facts["past"]) if facts.get("past") else None
            sound = mean.shape == spread.shape == (len(names),) and len(names) > 0
            sound = sound and bool(np.isfinite(mean).all() and (spread > 0).all())
        except (KeyError, TypeError, ValueError, binascii.Error):
            sound = False
        if not sound:
            raise RunError(
                "its scale is damaged", place=directory / FACTS, remedy="restore it from a copy"
            )
        return cls(config, names, (mean, spread), past)

    @classmethod
    def placeholder_items(cls, config: SeriesConfig) -> Series:
        """Items of the kind that such a column has, before there is any data."""
        known = len(config.known_columns)
        return Series(1 + known, config.steps, known=known, quantiles=config.quantiles)

    @property
    def items(self) -> Series:
        """Time steps with a number for each column."""
        config = self.config
        return Series(
            len(self.names),
            config.steps,
            known=len(config.known_columns),
            quantiles=config.quantiles,
            forced=config.forced,
        )

    def facts(self) -> dict[str, Any]:
        """Facts for clients: the columns and the number of steps."""
        return {"columns": self.names, "steps": self.items.steps}

    def fault(self, cell: str) -> DataError | None:
        """The error of a cell whose steps are not so many finite numbers."""
        size = len(self.names)
        for number, step in enumerate(cell.split(";"), 1):
            found = parse_numbers(step)
            if found is None or len(found) != size:
                return DataError(
                    f"step {number} is not {size:,} finite numbers",
                    remedy="part steps by semicolons",
                )
        return None

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """The steps of each cell, separated by semicolons."""
        tables = (np.array([parse_numbers(step) for step in cell.split(";")]) for cell in cells)
        return [self.scale(table) for table in tables]

    def tokens(self, row: Any) -> list[str]:
        """The unscaled numbers of each step."""
        return [write_numbers(step) for step in self.unscale(np.asarray(row))]

    def cell(self, row: Any) -> str:
        """All steps."""
        return "; ".join(self.tokens(row))

    def scale(self, table: Table) -> NDArray[np.float32]:
        """Standardize numbers."""
        return ((table - self.mean) / self.spread).astype(np.float32)

    def unscale(self, values: NDArray[np.floating]) -> Table:
        """Undo the standardization; columns are on the last axis."""
        return np.asarray(values * self.spread + self.mean, np.float64)

    def describe(self) -> str:
        """The columns and the number of steps."""
        shown = ", ".join(self.names[:8]) + ", ..." * (len(self.names) > 8)
        return f"{self.items.steps:,} steps of {shown}"

    def _state(self) -> FieldState:
        facts = {
            "names": list(self.names),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
        }
        return FieldState(
            facts if self.past is None else {**facts, "past": _baseline_facts(self.past)}
        )


def _baseline_facts(past: SeriesBaseline) -> dict[str, Any]:
    linear = base64.b64encode(past.linear.astype("<f4").tobytes()).decode("ascii")
    return {
        "season": past.season,
        "shape": list(past.linear.shape),
        "linear": linear,
        "naive_error": list(past.naive_error),
    }


def _parse_baseline(facts: Mapping[str, Any]) -> SeriesBaseline:
    content = base64.b64decode(facts["linear"], validate=True)
    window, horizon = facts["shape"]
    linear = np.frombuffer(content, "<f4").reshape(window, horizon)
    if not np.isfinite(linear).all() or facts["season"] < 1:
        raise ValueError("not finite")
    naive_error = tuple(float(each) for each in facts.get("naive_error", ()))
    return SeriesBaseline(int(facts["season"]), linear, naive_error)
