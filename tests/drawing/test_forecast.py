"""Pictures of forecasts: drawn for one column and for many, with bands and without."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.drawing.forecast import draw_forecast
from seqloom.prediction import Forecast


@pytest.mark.parametrize(("columns", "bands"), [(1, True), (7, True), (2, False)])
def test_the_same_forecast_is_the_same_picture(tmp_path: Path, columns: int, bands: bool) -> None:
    """Byte for byte, and it names every column, what was observed and what is expected."""
    names = tuple(f"column{number}" for number in range(columns))
    values = np.random.default_rng(1).normal(size=(6, columns))
    forecast = Forecast(
        names,
        "day",
        tuple(f"2026-01-0{n}" for n in range(1, 7)),
        values,
        {0.1: values - 1, 0.9: values + 1} if bands else {},
        np.zeros((30, columns)),
        values + 0.1,
    )
    for name in ("a.svg", "b.svg"):
        draw_forecast(forecast, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for words in (*names, "observed", "forecast", "what came", "2026-01-01"):
        assert words in text
    assert ("0.1 to 0.9 of the outcomes" in text) == bands
