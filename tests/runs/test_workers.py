"""Several workers: the same training, the same guarantees (RELIABILITY A9)."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import tomli_w

from seqloom.api.train import train
from seqloom.errors import DivergedError, Interrupted, RunError
from seqloom.runs.processes import workers as processes
from seqloom.training import PeerLostError, Update
from seqloom.training.distributed import ranks
from tests.counts import count
from tests.runs.nursery import ROOT, Ended, Nursery, nursery
from tests.runs.support import (
    PAIRS,
    Options,
    Watching,
    assert_same,
    at,
    history,
    interrupt,
    last,
    options,
    sitting,
    trained,
    write_pairs,
)

pytestmark = pytest.mark.faults
PATIENCE = 60  # seconds, for processes that have to import torch on a busy machine


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("nursery")) as process:
        yield process


def workers(run: Path) -> list[int]:
    """The further workers of a run that are alive, on the whole machine."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"worker" in words and os.fsencode(run) in words:
                found.append(int(folder.name))
    return found


def none_left(run: Path) -> bool:
    """Whether all workers of a run are gone, or go soon."""
    end = time.monotonic() + PATIENCE
    while workers(run) and time.monotonic() < end:
        time.sleep(0.05)
    left = workers(run)
    for each in left:
        os.kill(each, signal.SIGKILL)
    return not left


def losses(run: Path, count: int) -> list[tuple[float, float]]:
    """Loss and learning rate of every update, by methods that all workers must agree about."""
    found: list[tuple[float, float]] = []

    def remember(update: Update) -> None:
        found.append((update.loss, update.rate))

    shared: Options = {
        "accumulate": 2,
        "loss": "mean",
        "one_position": True,
        "freeze": "embeddings",
    }
    plateau: Options = {"decay": "plateau", "plateau_patience": 1, "average": "moving"}
    length: Options = {"updates": 20, "validate_every": 5, "patience": 0}
    chosen = options(dropout=0.0, workers=count, l2=1.0, **length, **shared, **plateau)
    train(PAIRS, run, options=chosen, watch=Watching(remember))
    return found


def test_one_worker_and_two_agree(tmp_path: Path) -> None:
    """Without dropout the loss of every update is the same to rounding; so is what they wait for,
    the first worker's held-out results, and the draw of a position."""
    one, two = (losses(tmp_path / str(count), count) for count in (1, 2))
    assert len(one) == len(two) == 20
    assert [rate for _, rate in two] == [rate for _, rate in one]
    assert two[-1][1] < max(rate for _, rate in two)
    assert [loss for loss, _ in two] == pytest.approx([loss for loss, _ in one], abs=1e-5)
    assert workers(tmp_path / "2") == []


def test_two_workers_stopped_and_bereaved(tmp_path: Path) -> None:
    """A9: a lost worker ends in one sentence; going on, and a signal, change no bit."""
    chosen = options(updates=8, validate_every=4, workers=2)
    trained(tmp_path / "whole", chosen)
    run = tmp_path / "run"

    def kill() -> None:
        for worker in workers(run):
            os.kill(worker, signal.SIGKILL)

    with pytest.raises(RunError) as caught:
        train(PAIRS, run, options=chosen, watch=at(5, kill))
    assert str(caught.value).startswith("a worker was lost")
    assert "pair.cc" not in str(caught.value)
    assert last(run).number == 4
    sitting(run, chosen, until=6)
    trained(run, chosen)
    assert_same(run, tmp_path / "whole")
    assert none_left(run)


@pytest.mark.parametrize("signalled", [False, True][: count(1, 2)])
def test_a_worker_that_hangs(
    signalled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A10: it is given up after the configured time, or soon after a signal; the step is saved, and
    the run goes on with the same bits. It may have sent its gradients of the next update already.
    """
    chosen = options(updates=8, validate_every=4, workers=2)
    trained(tmp_path / "whole", chosen)
    monkeypatch.setenv("SEQLOOM_PEER_TIMEOUT", "60" if signalled else "3")
    monkeypatch.setattr(ranks, "GRACE", 0.5)
    monkeypatch.setattr(processes, "ENDING", 0.5)
    run = tmp_path / "run"

    def hang() -> None:
        for worker in workers(run):
            os.kill(worker, signal.SIGSTOP)
        if signalled:
            timer.start()

    timer = threading.Timer(0.5, interrupt)  # in the midst of the next update's communication
    expected = Interrupted if signalled else PeerLostError
    with pytest.raises(expected, match="step [56] is saved") as caught:
        train(PAIRS, run, options=chosen, watch=at(5, hang))
    silent = "rank 1 has given no sign of life for 3 seconds"
    assert signalled or str(caught.value).startswith(silent)
    assert none_left(run)
    monkeypatch.setenv("SEQLOOM_PEER_TIMEOUT", "120")
    trained(run, chosen)
    assert_same(run, tmp_path / "whole")


def test_divergence_ends_all_workers(tmp_path: Path) -> None:
    """A8: every worker sees the same loss, so all end."""
    chosen = options(rate=1e38, clip_norm=0, warmup=0, workers=2)
    with pytest.raises(DivergedError, match="update [0-9]+: "):
        trained(tmp_path / "run", chosen)
    assert none_left(tmp_path / "run")


class Command:
    """`seqloom train` with two workers."""

    def __init__(self, started: Nursery, folder: Path) -> None:
        config = folder / "options.toml"
        config.write_text(tomli_w.dumps(options(updates=100_000, patience=0)))
        self.started = started
        self.run = folder / "run"
        data = str(write_pairs(folder / "pairs.tsv"))
        self.arguments = ["train", data, "--run", str(self.run), "--config", str(config)]
        self.arguments += ["--workers", "2"]

    def __call__(self, **fault: object) -> Ended:
        return self.started.run(*self.arguments, **fault)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_a_terminal_that_signals_all_workers(
    number: signal.Signals, started: Nursery, tmp_path: Path
) -> None:
    """A4: Ctrl-C, or closing the window, reaches every process; the step is saved."""
    command = Command(started, tmp_path)
    ended = command(when=str(command.run / "step-000004"), later=0.5, signal=number, to="group")
    assert ended.code == 130, ended.errors
    assert f"step {last(command.run).number} is saved" in ended.sentence
    assert history(command.run)
    assert none_left(command.run)


def test_ctrl_c_while_workers_start(started: Nursery, tmp_path: Path) -> None:
    """A4: there is no step to save, and nobody waits for anybody."""
    command = Command(started, tmp_path)
    ended = command(when="worker", later=0.3, signal=signal.SIGINT, to="group")
    assert ended.code == 130, ended.errors
    assert len(ended.sentence.splitlines()) == 1
    assert none_left(command.run)


def test_a_worker_that_dies_while_it_starts(started: Nursery, tmp_path: Path) -> None:
    """A9: exit 4 and one sentence, not a wait of hours."""
    command = Command(started, tmp_path)
    ended = command(when="worker", later=0.3, signal=signal.SIGKILL, to="workers")
    assert ended.code == 4, ended.errors
    assert "a worker could not be started" in ended.sentence


def test_workers_end_without_a_word(started: Nursery, tmp_path: Path) -> None:
    """A9: a further worker ends while the first validates, and Python does not abort it."""
    command = Command(started, tmp_path)
    command.arguments += ["--set", "training.updates=4", "--set", "training.validate_every=2"]
    ended = command()
    assert ended.code == 0, ended.errors
    assert "Fatal Python error" not in ended.errors


def test_a_board_that_hangs_at_the_end() -> None:
    """A9: a rank inside torch as Python ends it keeps its exit code; it does not abort."""
    environment = {**os.environ, "SEQLOOM_PEER_TIMEOUT": "0.8"}
    command = [sys.executable, "-m", "tests.runs.hanging_board"]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    with suppress(ProcessLookupError):
        os.kill(int(ended.stdout), signal.SIGKILL)
    assert ended.returncode == 7, ended.stderr


def test_workers_do_not_outlive_the_first(started: Nursery, tmp_path: Path) -> None:
    """Killed while they start, it leaves none behind."""
    command = Command(started, tmp_path)
    ended = command(when="worker", later=0.3, signal=signal.SIGKILL, to="first")
    assert ended.code == -signal.SIGKILL
    assert none_left(command.run)
