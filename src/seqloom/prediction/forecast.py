"""Forecasts, in the units of their columns (S1.2)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom.display import Displayed

__all__ = ["Forecast"]


@dataclass(frozen=True)
class Forecast(Displayed):
    """A forecast, in the units of its columns."""

    columns: tuple[str, ...]
    time_name: str
    times: tuple[str, ...]
    mean: NDArray[np.float64]  # (T, C)
    quantiles: dict[float, NDArray[np.float64]]  # each (T, C)
    past: NDArray[np.float64]  # (S, C): the input window
    actual: NDArray[np.float64] | None = None  # (T, C): the observed future, if known

    def as_dicts(self) -> Iterator[dict[str, Any]]:
        """Each step as plain values for JSON."""
        for number, time in enumerate(self.times):
            yield {
                self.time_name: time,
                "mean": _by_name(self.columns, self.mean[number]),
                "quantiles": {
                    f"{share:g}": _by_name(self.columns, values[number])
                    for share, values in self.quantiles.items()
                },
            }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, a list for each column, without the input window."""
        return {
            "time": self.time_name,
            "times": list(self.times),
            "mean": self._by_column(self.mean),
            "quantiles": {f"{q:g}": self._by_column(v) for q, v in self.quantiles.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`, without the input window."""
        columns = tuple(plain["mean"])
        return cls(
            columns,
            plain["time"],
            tuple(plain["times"]),
            _table(plain["mean"], columns),
            {float(q): _table(values, columns) for q, values in plain["quantiles"].items()},
            np.zeros((0, len(columns))),
        )

    def _by_column(self, values: NDArray[np.float64]) -> dict[str, list[float]]:
        return {
            name: [_round_digits(value) for value in column]
            for name, column in zip(self.columns, values.T.tolist(), strict=True)
        }

    def csv_lines(self) -> Iterator[str]:
        """The forecast as CSV: times, and the mean of each column."""
        yield ",".join(_quote_csv(name) for name in (self.time_name, *self.columns))
        for time, values in zip(self.times, self.mean, strict=True):
            yield ",".join([time, *(f"{value:.6g}" for value in values)])


def _by_name(columns: tuple[str, ...], values: NDArray[np.float64]) -> dict[str, float]:
    return {name: _round_digits(value) for name, value in zip(columns, values, strict=True)}


def _quote_csv(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if {*',"\n'} & {*name} else name


def _round_digits(value: float) -> float:
    return float(f"{value:.6g}")


def _table(values: Mapping[str, Sequence[float]], columns: Sequence[str]) -> NDArray[np.float64]:
    return np.array([values[name] for name in columns], np.float64).T
