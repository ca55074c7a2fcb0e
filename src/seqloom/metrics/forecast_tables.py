"""Forecast errors by column and by step ahead, as tables."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from seqloom.display import Displayed
from seqloom.fields.series import SeriesField
from seqloom.metrics.forecasts import ErrorTable, ForecastErrors

__all__ = ["ColumnErrors", "ErrorRow", "StepErrors"]

ERRORS = ("MSE", "MAE", "MASE", "sMAPE")
SHOWN_STEPS = 8  # rows in a terminal


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one column or of one step ahead: standardized, scaled and in per cent."""

    name: str
    mse: float
    mae: float
    mase: float  # NaN if the training rows have no naive error
    smape: float
    mae_own: float = math.nan  # in the column's own units; NaN for several columns

    @property
    def cells(self) -> tuple[str, ...]:
        """The errors as text; a dash for an unknown one."""
        mase = "–" if math.isnan(self.mase) else f"{self.mase:.3f}"
        own = () if math.isnan(self.mae_own) else (f"{self.mae_own:.4g}",)
        return f"{self.mse:.4f}", f"{self.mae:.4f}", mase, f"{self.smape:.1f}", *own

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without unknown ones."""
        unknown = {name for name in ("mase", "mae_own") if math.isnan(getattr(self, name))}
        return {name: value for name, value in asdict(self).items() if name not in unknown}


@dataclass(frozen=True)
class _ErrorRows(Displayed):
    """Base of tables of errors by name, in order."""

    headings: ClassVar[tuple[str, ...]]

    rows: tuple[ErrorRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without unknown ones."""
        return {"rows": [each.as_dict() for each in self.rows]}

    def lines(self, shown: Sequence[ErrorRow]) -> list[str]:
        """Render a line for each of these rows, below the headings."""
        lines = [self.headings, *((each.name, *each.cells) for each in shown)]
        width = max(len(name) for name, *_ in lines)
        return [f"{name:<{width}}" + "".join(f"{c:>9}" for c in cells) for name, *cells in lines]


@dataclass(frozen=True)
class ColumnErrors(_ErrorRows):
    """Errors of each column, averaged over windows and steps."""

    headings = ("column", *ERRORS, "own MAE")

    @classmethod
    def of(cls, errors: ForecastErrors, target: SeriesField) -> Self:
        """Compute the errors of the columns of a target."""
        rows = zip(_rows(target.names, errors.by_column()), target.spread.tolist(), strict=True)
        return cls(tuple(replace(row, mae_own=row.mae * spread) for row, spread in rows))


@dataclass(frozen=True)
class StepErrors(_ErrorRows):
    """Errors of each step ahead, averaged over windows and columns."""

    headings = ("steps ahead", *ERRORS)

    @classmethod
    def of(cls, errors: ForecastErrors) -> Self:
        """Compute the errors by step, counted from 1."""
        table = errors.by_step()
        return cls(_rows([str(number + 1) for number in range(len(table.mse))], table))

    def spread_rows(self, most: int = SHOWN_STEPS) -> list[ErrorRow]:
        """The first row, the last and evenly spaced ones in between."""
        places = np.linspace(0, len(self.rows) - 1, min(most, len(self.rows))).round()
        return [self.rows[place] for place in np.unique(places.astype(int)).tolist()]


def _rows(names: Sequence[str], table: ErrorTable) -> tuple[ErrorRow, ...]:
    errors = zip(names, *(part.tolist() for part in table), strict=True)
    return tuple(ErrorRow(*each) for each in errors)
