"""Held-out rows as inputs to try: of series and of files, they are what the model was given."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.api.train import train
from seqloom.prediction import Forecaster
from seqloom.serving.inputs import SeriesInput, tables
from seqloom.store import RunDirectory
from seqloom.tasks import introduce
from seqloom.tasks.report_rows import open_held_out
from tests.runs.media_runs import sound_options, sounds_
from tests.serving.support import serving

__all__ = ["sounds_"]

HORIZON, WINDOW = 2, 6
WAVE = np.random.default_rng(1).normal(size=(120, 2))
LINES = ["when,load,heat", *(f"{n},{a:.6f},{b:.6f}" for n, (a, b) in enumerate(WAVE))]


@pytest.mark.parametrize("source", [{}, {"known": "heat"}], ids=["observed", "known ahead"])
@pytest.mark.parametrize("time", ["", "when", "none"])
def test_windows_are_sent_as_tables(source: dict[str, Any], time: str, tmp_path: Path) -> None:
    """The forecast of an example is that of the held-out window that it was made of, and its
    reference is what came."""
    (tmp_path / "load.csv").write_text("\n".join(LINES))
    options = {
        "source": {"window": WINDOW, **source},
        "target": {"kind": "series", "horizon": HORIZON},
        "data": {"time": time, "target": "load", "source": "load,heat"},
        "training": {"updates": 2, "workers": 1, "curves": False},
    }
    train(tmp_path / "load.csv", tmp_path / "run", options=options)
    model = seqloom.load(tmp_path / "run")
    assert isinstance(model, Forecaster)
    known = introduce(model).examples
    assert len(known) == 3
    held = open_held_out(RunDirectory(tmp_path / "run"), model, most=200)
    pasts = np.stack([np.asarray(row.source_values) for row in held])
    every = model.target.unscale(model.forecast_windows(pasts)[..., 0])
    sent = tables(model, [SeriesInput(**each.input) for each in known])
    for (table, _), each in zip(sent, known, strict=True):
        place = [row.target for row in held].index(each.reference)
        found = model.forecast(table, len(table) - table.ahead)
        assert np.asarray(found.mean) == pytest.approx(every[place], abs=1e-4)


def test_recordings_are_sent_as_they_were(sounds: Path, tmp_path: Path) -> None:
    """Their content is that of the file, for as long as the file is what it was."""
    train(sounds, tmp_path / "run", options=sound_options(updates=1, validate_every=1))
    model = seqloom.load(tmp_path / "run")
    known = introduce(model).examples
    assert len(known) == 3
    files = {path.read_bytes(): path for path in tmp_path.glob("*.wav")}
    used = [files[base64.b64decode(each.input["base64"])] for each in known]
    assert len(set(used)) == 3
    cells = [str(path) for path in used]
    with serving({"sound": model}) as server:
        body = {"inputs": [each.input for each in known]}
        outputs = server.ask("POST", "/v1/predict", body).json["outputs"]
    assert [each["text"] for each in outputs] == [each.text for each in model.predict(cells)]
    used[0].write_bytes(used[1].read_bytes())
    used[1].unlink()
    left = [each.input["base64"] for each in introduce(model).examples]
    assert known[0].input["base64"] not in left
    assert known[1].input["base64"] not in left
