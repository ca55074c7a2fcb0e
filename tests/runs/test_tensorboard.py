"""Figures for TensorBoard (an extra): what events.jsonl has, read back from its own files."""

import sys
from pathlib import Path

import pytest

from seqloom.api.train import train
from seqloom.errors import ConfigError
from seqloom.store import RunDirectory
from tests.runs.support import PAIRS, history, options, sitting, trained

Figures = dict[str, list[tuple[int, float]]]


def shown(run: Path) -> Figures:
    """Each title with its steps and values, as TensorBoard would draw them."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    ).EventAccumulator(str(run / "tensorboard"))
    accumulator.Reload()
    return {
        title: [(point.step, point.value) for point in accumulator.Scalars(title)]
        for title in accumulator.Tags()["scalars"]
    }


def test_the_figures_are_those_of_the_events(tmp_path: Path) -> None:
    """Interrupted and gone on with, each step is there once, with the run's own values."""
    run, chosen = tmp_path / "run", options(updates=44, patience=0, tensorboard=True)
    sitting(run, chosen, until=23)
    trained(run, chosen)
    updates = [each for each in RunDirectory(run).events() if each["event"] == "update"]
    assert [each["step"] for each in updates] == [20, 40]
    for title, name, events in (
        ("training/loss", "loss", updates),
        ("held out/loss", "loss", history(run)),
        ("held out/exact match", "metric", history(run)),
    ):
        steps, values = zip(*shown(run)[title], strict=True)
        assert list(steps) == [each["step"] for each in events]
        assert list(values) == pytest.approx([each[name] for each in events])
    assert len(history(run)) == 11


def test_what_a_crash_left_is_hidden(tmp_path: Path) -> None:
    """Figures of steps that are made again are those of the second time."""
    run, chosen = tmp_path / "run", options(updates=44, patience=0, tensorboard=True)
    trained(run, chosen)
    for step in RunDirectory(run).checkpoints()[-2:]:
        (step.path / "manifest.json").unlink()
    trained(run, chosen)
    assert [step for step, _ in shown(run)["training/learning rate"]] == [20, 40]


def test_nothing_is_written_unasked(tmp_path: Path) -> None:
    """It is off by default."""
    trained(tmp_path / "run", options())
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_without_the_extra_it_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, before any data is read."""
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ConfigError, match=r"pip install 'seqloom\[tensorboard\]'"):
        train(PAIRS, tmp_path / "run", options=options(tensorboard=True))
    assert not (tmp_path / "run" / "config.toml").exists()
