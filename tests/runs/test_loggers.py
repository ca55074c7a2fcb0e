"""Figures for TensorBoard and MLflow, extras: those of events.jsonl, read back by their readers."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.train import train
from seqloom.errors import ConfigError, RunError
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


def stored(folder: Path) -> Any:
    """MLflow's own client for the store in a folder; the test is skipped where it is absent."""
    reason = "pip install 'seqloom[mlflow]'"
    for name in ("sqlalchemy", "alembic"):
        pytest.importorskip(name, reason=reason)
    tracking = pytest.importorskip("mlflow.tracking", reason=reason)
    return tracking.MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")


@pytest.mark.filterwarnings("default")  # of MLflow's own
def test_mlflow_has_the_run_its_options_figures_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted, gone on with, and begun again in part after a crash: one run, each step once."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = stored(tmp_path)
    run, chosen = tmp_path / "run", options(updates=44, patience=0, curves=True, mlflow=True)
    sitting(run, chosen, until=23)
    trained(run, chosen)
    for step in RunDirectory(run).checkpoints()[-2:]:
        (step.path / "manifest.json").unlink()
    trained(run, chosen)
    (found,) = client.search_runs([client.get_experiment_by_name("seqloom").experiment_id])
    assert (found.info.run_name, found.info.status) == ("run", "FINISHED")
    assert found.data.params["training.updates"] == "44"
    updates = [each for each in RunDirectory(run).events() if each["event"] == "update"]
    for title, name, events in (
        ("training/loss", "loss", updates),
        ("held out/loss", "loss", history(run)),
        ("held out/exact match", "metric", history(run)),
    ):
        kept = sorted(client.get_metric_history(found.info.run_id, title), key=lambda x: x.step)
        assert [each.step for each in kept] == [each["step"] for each in events]
        assert [each.value for each in kept] == pytest.approx([each[name] for each in events])
    pictures = client.list_artifacts(found.info.run_id, "pictures")
    assert [each.path for each in pictures] == ["pictures/curves.png"]


@pytest.mark.filterwarnings("default")
def test_a_store_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence with the place, and what to do without it."""
    stored(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{PAIRS}/mlflow.db")
    with pytest.raises(RunError, match="training.mlflow=false"):
        trained(tmp_path / "run", options(mlflow=True))


@pytest.mark.parametrize(
    ("name", "package"), [("tensorboard", "tensorboard"), ("mlflow", "mlflow")]
)
def test_without_the_extra_it_says_how_to_have_it(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, before any data is read."""
    monkeypatch.setitem(sys.modules, package, None)
    asked: dict[str, Any] = {name: True}
    with pytest.raises(ConfigError, match=rf"pip install 'seqloom\[{name}\]'"):
        train(PAIRS, tmp_path / "run", options=options(**asked))
    assert not (tmp_path / "run" / "config.toml").exists()


def test_nothing_is_written_unasked(tmp_path: Path) -> None:
    """Loggers are off by default."""
    trained(tmp_path / "run", options())
    assert not (tmp_path / "run" / "tensorboard").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"run"}
