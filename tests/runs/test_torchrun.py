"""Ranks that torchrun starts: the same training, one writer (A9)."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from seqloom.api.training_result import TrainingResult
from seqloom.errors import ConfigError
from seqloom.randomness import key
from seqloom.runs.process import TorchrunEnvironment, torchrun_environment
from seqloom.store import RunDirectory
from tests.counts import count
from tests.runs.nursery import ROOT, Nursery, nursery
from tests.runs.support import assert_same, history, last, options, tensors, trained, write_pairs

pytestmark = pytest.mark.faults
UNEVEN: dict[str, Any] = {
    "batch_tokens": 20,
    "accumulate": 2,
}  # five rows a batch, one in the last of a pass
PATIENCE = 300  # seconds, for processes that have to import torch on a busy machine


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("nursery")) as process:
        yield process


def words(run: Path, chosen: dict[str, Any]) -> list[str]:
    """`train` with these options."""
    config = run.with_suffix(".toml")
    config.write_text(tomli_w.dumps(chosen))
    data = write_pairs(run.with_name("pairs.tsv"))
    return ["train", str(data), "--run", str(run), "--config", str(config)]


def test_one_rank_and_two_agree(started: Nursery, tmp_path: Path) -> None:
    """Without dropout they agree to 1e-5 over 20 updates, shares of no row among them; a launcher
    of one rank is no launcher."""
    chosen = options(
        dropout=0.0, updates=20, validate_every=1, patience=0, average="none", **UNEVEN
    )
    alone, *launched = (tmp_path / name for name in ("alone", "1", "2"))
    assert started.run(*words(alone, chosen)).code == 0
    for world, run in enumerate(launched, 1):
        ended = started.launch(*words(run, chosen), world=world)
        assert [each.code for each in ended] == [0] * world, ended
        assert all(each.errors == "" for each in ended[1:])
    assert_same(alone, launched[0])
    one, two = (history(run) for run in launched)
    assert len(one) == len(two) == 20
    for name in ("loss", "training"):
        assert [each[name] for each in two] == pytest.approx([each[name] for each in one], abs=1e-5)
    mine, theirs = (tensors(last(run))["model"] for run in launched)
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-5) for name in mine)


def test_a_signal_to_any_rank_stops_all_at_one_step(started: Nursery, tmp_path: Path) -> None:
    """A4: the first saves and speaks, the others end with it; going on changes no bit."""
    whole, run = tmp_path / "whole", tmp_path / "run"

    def chosen(updates: int) -> list[str]:
        return words(run, options(updates=updates, patience=0, decay="constant"))

    ended = started.launch(
        *chosen(100_000),
        rank=1,
        when=str(run / "step-000004"),
        to="first",
        signal=signal.SIGTERM,
    )
    assert [each.code for each in ended] == [130, 130], ended
    step = last(run).number
    assert f"step {step} is saved" in ended[0].sentence
    assert ended[1].errors == ""
    further = chosen(step + 4)
    assert [each.code for each in started.launch(*further)] == [0, 0]
    further[further.index(str(run))] = str(whole)
    assert [each.code for each in started.launch(*further)] == [0, 0]
    assert_same(run, whole)


def test_what_is_wrong_is_said_once(started: Nursery, tmp_path: Path) -> None:
    """The first rank tells it; all end with its exit code."""
    arguments = words(tmp_path / "run", options())
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\te\n")
    ended = started.launch(*arguments)
    assert [each.code for each in ended] == [3, 3]
    assert "expected 2 columns, found 3" in ended[0].sentence
    assert ended[1].errors == ""


def torchrun(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Two ranks of `tests.runs.torchrun_rank`, started once more if one is lost."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    elastic = ["--max-restarts", "1", "-m", "tests.runs.torchrun_rank", "--", *arguments]
    return subprocess.run(
        [sys.executable, *launcher, "--local-addr", "127.0.0.1", *elastic],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_torchrun_goes_on_after_a_loss(started: Nursery, tmp_path: Path) -> None:
    """A9: a worker is killed, or the first rank inside a save; no bit differs in the end."""
    chosen = options(updates=6, validate_every=2)
    whole, listed = tmp_path / "whole", tmp_path / "operations"
    listed.write_text("[]")
    fault: dict[str, Any] = {"operation": -1, "signals": [], "count": str(listed)}
    assert [each.code for each in started.launch(*words(whole, chosen), **fault)] == [0, 0]
    operations = json.loads(listed.read_text())
    saves = range(operations.index("make"), len(operations))
    for number in range(count(1, 10)):
        run = tmp_path / f"run-{number}"
        operation = random.Random(key(0, "loss", number)).choice(saves)
        victim = "other" if number % 2 else "first"
        ended = torchrun(str(operation), victim, *words(run, chosen))
        assert ended.returncode == 0, ended.stderr
        assert "going on after update" in ended.stderr or operation < saves[20]
        assert_same(run, whole)


def test_all_ranks_know_what_was_trained(tmp_path: Path) -> None:
    """The others read from the run directory what the first has in hand."""
    result = trained(tmp_path / "run", options())
    assert TrainingResult.of(RunDirectory(tmp_path / "run")) == result


def test_what_a_launcher_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, or nothing; a rank that cannot be is refused."""
    place = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost"}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    assert torchrun_environment() is None
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert torchrun_environment() == TorchrunEnvironment(3, 4, 1)
    for wrong in ("4", "-1", "one", ""):
        monkeypatch.setenv("RANK", wrong)
        with pytest.raises(ConfigError, match=f"RANK={wrong},"):
            torchrun_environment()
