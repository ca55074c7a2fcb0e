"""Runs side by side, and the picture that each leaves (S9)."""

import json
from pathlib import Path

import pytest

from seqloom.api.compare import compare
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError, RunError
from tests.cli.support import Command
from tests.runs.support import PAIRS, at, history, interrupt, options, trained


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two that differ in one option, and one that began from the first."""
    folder = tmp_path_factory.mktemp("runs")
    for name, rate in (("slow", 1e-4), ("quick", 1e-2)):
        train(PAIRS, folder / name, options=options(dropout=0.0, updates=8, rate=rate))
    chosen = {"training": options(updates=4)["training"]}
    train(PAIRS, folder / "tuned", base=folder / "quick", options=chosen)
    return [folder / name for name in ("slow", "quick", "tuned")]


def test_entries_are_what_the_runs_say(runs: list[Path]) -> None:
    """Size, updates and the best held-out results, in the order of the question."""
    entries = compare(runs).entries
    assert [entry.run for entry in entries] == [str(run) for run in runs]
    for entry, run in zip(entries, runs, strict=True):
        model = load(run)
        assert entry.parameters == sum(each.numel() for each in model.network.parameters())
        assert entry.best.metric == max(each["metric"] for each in history(run))
        assert entry.minutes > 0
    assert [entry.updates for entry in entries] == [8, 8, 4]
    assert entries[2].origin.startswith(f"{runs[1]}, step ")


def test_only_what_differs_is_listed(runs: list[Path]) -> None:
    assert compare(runs[:2]).differing == ["training.rate"]
    assert compare(runs[:1]).differing == compare([runs[0], runs[0]]).differing == []


def test_the_table(runs: list[Path]) -> None:
    """A line for each run, a star at the better of two, and a line for each option."""
    lines = compare(runs[:2]).lines()
    assert lines[0].split()[:2] == ["run", "parameters"]
    assert [line.split()[0] for line in lines[1:3]] == [str(run) for run in runs[:2]]
    losses = [entry.best.loss for entry in compare(runs[:2]).entries]
    better = lines[1 + losses.index(min(losses))]
    assert f"{min(entry.perplexity for entry in compare(runs[:2]).entries):.2f}*" in better
    assert lines[-1].split() == ["training.rate", "0.0001", "0.01"]
    assert "*" not in "".join(compare(runs[:1]).lines())


def test_the_command(runs: list[Path], command: Command) -> None:
    shown = command("compare", *runs)
    assert shown.code == 0
    assert shown.out.splitlines() == compare(runs).lines()
    found = [json.loads(line) for line in command("compare", "--json", *runs[:2]).out.splitlines()]
    assert [each["run"] for each in found] == [str(run) for run in runs[:2]]
    assert found[0]["options"] == {"training.rate": 1e-4}
    assert found[0]["best"]["metric"] == compare(runs).entries[0].best.metric


def test_what_cannot_be_compared(tmp_path: Path, command: Command) -> None:
    """No run, nothing validated, nothing named."""
    with pytest.raises(RunError, match="no run is here"):
        compare([tmp_path])
    with pytest.raises(Exception, match="stopped"):
        train(PAIRS, tmp_path / "run", options=options(), watch=at(1, interrupt))
    with pytest.raises(RunError, match="no step was validated yet"):
        compare([tmp_path / "run"])
    with pytest.raises(ConfigError, match="no run is given"):
        compare([])
    assert command("compare").code == 2


def test_curves_are_drawn_when_training_is_over(tmp_path: Path) -> None:
    """Once, by default; a picture that cannot be written is no reason to fail."""
    drawn = options(updates=2, curves=True)
    trained(tmp_path / "run", drawn)
    picture = tmp_path / "run" / "curves.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    trained(tmp_path / "run", drawn)
    assert not picture.exists()
    picture.mkdir()
    assert trained(tmp_path / "run", options(updates=4, curves=True)).steps == 4
