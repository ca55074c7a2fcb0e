"""Reports of runs that read files and of runs that forecast (S9)."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.api.evaluate import evaluate
from seqloom.api.load import load
from seqloom.api.report import report
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.prediction import MaskFiller
from tests.runs import media_runs as media
from tests.runs.media_runs import pictures_, sounds_, videos_
from tests.runs.support import PAIRS, options
from tests.tasks import blank_texts, wave_series

__all__ = ["pictures_", "sounds_", "videos_"]

FRONT = {"kind": "picture", "widths": [4]}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "pictures described": ("pictures", media.options("text", front=FRONT)),
    "pictures judged": ("pictures", media.options("label", front=FRONT)),
    "sound written down": ("sounds", media.sound_options()),
    "videos described": ("videos", media.video_options()),
    "videos judged": ("videos", media.video_options("label")),
}


@pytest.mark.parametrize("name", list(RUNS))
def test_files_of_the_held_out_rows_are_shown(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Three of them with what the model looked at, and all scores; a page by itself."""
    kind, options = RUNS[name]
    train(request.getfixturevalue(kind), tmp_path / "run", options=options)
    made = report(tmp_path / "run")
    page = made.page()
    assert made.row_count == 4
    assert len(made.views) == 3
    for heading in ("Best examples", "Worst examples", made.views_heading):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("data:image/png;base64,") >= 3
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert json.loads(json.dumps(made.as_dict()))["scores"]


def test_sources_are_cut_as_in_use(tmp_path: Path) -> None:
    """Rows of other data may be longer than what a model takes; a report says what predict says."""
    cut = {"data": {"max_source": 2, "overlong": "truncate"}}
    train(PAIRS, tmp_path / "run", options=merge(options(updates=2), cut))
    model = load(tmp_path / "run")
    made = report(tmp_path / "run", data=PAIRS[:4])
    outputs = model.predict([source for source, _ in PAIRS[:4]])
    assert all(output.truncated for output in outputs)
    assert [each.score for each in made.report_rows] == pytest.approx(
        [each.score for each in outputs]
    )


@pytest.mark.parametrize("preset", blank_texts.KINDS)
def test_texts_with_gaps_have_a_report(preset: str, tmp_path: Path) -> None:
    """The scores are those of evaluate, and rows are judged by the tokens that are told right."""
    train(blank_texts.TEXTS, tmp_path / "run", options=blank_texts.chosen(preset, updates=20))
    made = report(tmp_path / "run", data=blank_texts.TEXTS[:6])
    model = load(tmp_path / "run")
    assert isinstance(model, MaskFiller)
    found = evaluate(model, blank_texts.TEXTS[:6]).scores
    assert [each.name for each in made.scores] == [each.name for each in found]
    assert [each.value for each in made.scores] == pytest.approx([each.value for each in found])
    shares = [each.quality for each in made.report_rows]
    assert np.mean(shares) == pytest.approx(found[0].value)  # as all rows are of one length
    assert [each.reference for each in made.report_rows] == blank_texts.TEXTS[:6]
    assert len(made.views) == 3
    assert all("___" in json.dumps(each.as_dict()) for each in made.views)
    assert "told right, %" in report(tmp_path / "run").page()


@pytest.mark.parametrize("preset", ["auto", "gru"])
def test_forecasts_of_the_held_out_windows_are_shown(preset: str, tmp_path: Path) -> None:
    """Both kinds of decoder; the scores are those of evaluate on the same rows."""
    data = wave_series.write(tmp_path / "a.csv", noise=0.1)
    chosen = (
        wave_series.SMALL if preset == "auto" else merge(wave_series.SMALL, wave_series.STEPPED)
    )
    train(data, tmp_path / "run", model=preset, options=chosen)
    made = report(tmp_path / "run", data=data)
    wanted = evaluate(load(tmp_path / "run"), data).scores[0]
    assert made.scores[0].name == wanted.name == "R²"
    assert made.scores[0].value == pytest.approx(wanted.value, rel=1e-4)
    assert len(made.views) == 3
    assert "data:image/" in made.page()
    assert json.loads(json.dumps(made.as_dict()))["scores"]
