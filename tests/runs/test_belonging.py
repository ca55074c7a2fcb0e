"""RELIABILITY A12: files that do not belong together, or are damaged, are refused or named."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.api.describe import describe
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.engine.core_model import warn_once
from seqloom.errors import DataError, RunError
from seqloom.runs.contents import best_step
from seqloom.serving.inputs import describe_model
from seqloom.store import RunDirectory
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, options, write_pairs

OTHERS = [(target.upper(), source) for source, target in PAIRS]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Iterator[Path]:
    warn_once.cache_clear()
    yield shutil.copytree(sound, tmp_path / "run")
    warn_once.cache_clear()


def content(run: Path) -> dict[str, bytes]:
    """All files of a run but the lock."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def damage(step: Path) -> None:
    path = step / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def test_steps_and_fields_of_two_runs(run: Path, tmp_path: Path) -> None:
    """Fields that are sound in themselves do not make steps of another run speak nonsense."""
    train(OTHERS, tmp_path / "other", options=options(updates=1))
    shutil.rmtree(run / "fields")
    shutil.copytree(tmp_path / "other" / "fields", run / "fields")
    before = content(run)
    with pytest.raises(RunError, match="step 60 was trained with other fields than these"):
        load(run)
    with pytest.raises(RunError, match=r"none of its 2 .* other fields .*restart=True"):
        train(PAIRS, run)
    assert content(run) == before


def test_steps_of_earlier_releases_are_used(run: Path) -> None:
    """Their manifests do not say which fields they were trained with."""
    for path in run.glob("step-*/manifest.json"):
        manifest = json.loads(path.read_text())
        assert len(manifest.pop("fields")) == 64
        path.write_text(json.dumps(manifest, indent=1) + "\n")
    assert load(run).notes == ()


@pytest.mark.parametrize("data", [PAIRS, OTHERS])
def test_a_run_without_its_configuration(run: Path, data: list[tuple[str, str]]) -> None:
    """Nothing is replaced, whatever data the command names."""
    (run / "config.toml").unlink()
    before = content(run)
    with pytest.raises(RunError, match=r"config.toml is missing; bring config.toml back"):
        train(data, run, options=options())
    with pytest.raises(RunError, match=r"config.toml is missing; bring config.toml back"):
        load(run)
    assert content(run) == before


def test_nothing_is_written_before_every_check(run: Path) -> None:
    """An option that may change stays as it is where the data is refused."""
    before = content(run)
    with pytest.raises(DataError, match="not the data that"):
        train(OTHERS, run, options={"training": {"rate": 0.5}})
    assert content(run) == before


def test_an_emptied_configuration_is_named(run: Path) -> None:
    (run / "config.toml").write_text("")
    with pytest.raises(RunError, match=r"config.toml: the table source is missing; restore"):
        load(run)


def test_a_damaged_best_step_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, by describe, and by the list of models."""
    directory = RunDirectory(run)
    best = best_step(directory)
    other = next(each for each in directory.checkpoints() if each.number != best.number)
    damage(best.path)
    capsys.readouterr()
    model = load(run)
    (note,) = model.notes
    assert f"step {best.number}" in note
    assert f"step {other.number} is used in its place" in note
    error = capsys.readouterr().err
    assert note in error
    assert "model.safetensors: its bytes have changed" in error
    assert describe_model(model)["notes"] == [note]
    assert any(note in line for line in describe(run).lines())


def test_all_steps_damaged(run: Path, tmp_path: Path) -> None:
    """Training stops and says how to begin anew; asked to, it does, as a new run would."""
    pairs = write_pairs(tmp_path / "pairs.tsv")
    for step in run.glob("step-*"):
        damage(step)
    before = content(run)
    with pytest.raises(RunError, match=r"none of its 2 saved steps can be used.*restart=True"):
        train(PAIRS, run, options=options(updates=1))
    assert content(run) == before
    with pytest.raises(DataError):
        train(tmp_path / "missing.tsv", run, restart=True)
    assert content(run) == before
    train(pairs, run, options=options(updates=1), restart=True)
    train(pairs, tmp_path / "new", options=options(updates=1))
    assert [each.number for each in RunDirectory(run).checkpoints()] == [1]
    assert content(run).keys() == content(tmp_path / "new").keys()
    assert load(run).notes == ()
