"""A forecast from end to end, on a synthetic series with a known optimal forecast.

The hourly load of a small town: daily and weekly seasons, a slow drift, and noise of known
variance, which bounds the squared error of any forecast from below.
"""

import math
import random
from datetime import datetime, timedelta
from pathlib import Path

from seqloom.api.console import Console
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.drawing.forecast import draw_forecast
from seqloom.errors import ConfigError, DataError
from seqloom.randomness import key

__all__ = ["NOISE", "show_series", "write_load"]

HOURS = 24 * 7 * 20
TEST_HOURS = 24 * 14  # held out at the end
WINDOW = 336
NOISE = 3.0  # standard deviation, in megawatts
OPTIONS = {
    "target": {"kind": "series", "horizon": 48},
    "source": {"window": WINDOW},
    "training": {"updates": 400, "validate_every": 100},
}


def write_load(path: Path, *, seed: int = 1) -> None:
    """Write the series as CSV, its last two weeks into a separate file.

    The second file has `-after` before its extension, and begins with one input window of the
    first.
    """
    draw = random.Random(key(seed, "demo series"))
    begin = datetime(2026, 1, 5)
    rows = []
    for hour in range(HOURS):
        day, week = 2 * math.pi * hour / 24, 2 * math.pi * hour / 168
        load = 120 + 30 * math.sin(day - 2) + 10 * math.sin(2 * day) + 12 * math.cos(week)
        load += 8 * math.sin(2 * math.pi * hour / HOURS) + draw.gauss(0, NOISE)
        rows.append(f"{begin + timedelta(hours=hour):%Y-%m-%d %H:%M},{load:.2f}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for place, part in (
            (path, rows[:-TEST_HOURS]),
            (_test_path(path), rows[-TEST_HOURS - WINDOW :]),
        ):
            place.write_text("\n".join(["time,load", *part]) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})", place=path, remedy="choose another"
        ) from error


def show_series(run: Path | None = None) -> None:
    """Generate the series, train on it, forecast two unseen weeks, and draw the last window."""
    place = run or Path("runs") / "demo-series"
    data = place.with_name(f"{place.name}-data") / "load.csv"
    write_load(data)
    print(f"{HOURS:,} hours of the load of a small town: days, weeks, a drift, and noise.\n")
    with Console() as console:
        train(str(data), place, options=OPTIONS, watch=console)
    model = load(place).as_forecaster()
    if model is None:
        raise ConfigError(f"{place} does not forecast", remedy="choose another --run")
    print("\nThe last two weeks, which were never seen, and two simple forecasts of them:")
    print("\n".join(f"  {line}" for line in evaluate(model, _test_path(data)).lines()))
    floor = NOISE**2 / float(model.target.spread[0]) ** 2
    print(f"  the noise alone has an MSE of {floor:.4f} on average: none does better for long")
    table = model.read_table(_test_path(data))
    picture = place / "after.png"
    draw_forecast(model.forecast(table, len(table) - model.shape.horizon), picture)
    print(f"\nThe forecast with its band, and what came: {picture}")
    print(
        f"\nWhat to try next:\n"
        f"  seqloom predict {place} {data}\n"
        f"  seqloom predict {place} {data} --set target.horizon=168 --picture week.png\n"
        f"  seqloom predict {place} {data} --json\n"
        f"  seqloom serve {place}    # a playground (pip install 'seqloom[serve]')\n"
        f"  seqloom train {data} --target load:series --model gru --set source.window=96 "
        f"--run runs/load-gru\n"
        f"  seqloom train YOUR-SERIES.csv --target COLUMN:series --run runs/mine"
    )


def _test_path(path: Path) -> Path:
    return path.with_stem(f"{path.stem}-after")
