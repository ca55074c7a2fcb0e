"""`seqloom predict` on series: forecast what follows the end of a table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from seqloom.errors import ConfigError

if TYPE_CHECKING:
    from seqloom.prediction import Forecaster

__all__ = ["ForecastOptions", "write_forecast"]


class ForecastOptions(NamedTuple):
    """Options of a forecast."""

    file: Path | None
    assignments: list[str]
    picture: Path | None
    as_json: bool
    skip_bad: bool


def write_forecast(model: "Forecaster", options: ForecastOptions) -> None:
    """Print the forecast as CSV, or one JSON object per step; draw it if asked."""
    if options.file is None:
        raise ConfigError(
            "a forecast goes on from a table", remedy="name its CSV file after the run"
        )
    steps = _steps(options.assignments)
    forecast = model.forecast_after(options.file, steps=steps, skip_bad=options.skip_bad)
    if options.as_json:
        for step in forecast.as_dicts():
            print(json.dumps(step, ensure_ascii=False))
    else:
        print("\n".join(forecast.csv_lines()))
    if options.picture is not None:
        from seqloom.drawing.forecast import draw_forecast

        draw_forecast(forecast, options.picture)


def _steps(assignments: list[str]) -> int | None:
    """The number of steps to forecast, if the options set it."""
    from seqloom.config import leaves, parse_assignments

    chosen = dict(leaves(parse_assignments(assignments)))
    steps = chosen.pop("target.horizon", None)
    if chosen or not (steps is None or isinstance(steps, int)):
        raise ConfigError(
            "a forecast can be set to another number of steps alone",
            remedy="write --set target.horizon=48, say",
        )
    return steps
