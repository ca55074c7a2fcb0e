"""RELIABILITY A13: what surrounds a command fails: logs, outputs, limits, signals."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqloom.api.describe import example_command
from seqloom.api.train import train
from seqloom.cli.system_errors import system_error
from seqloom.cli.terminal import tolerate_lost_log
from seqloom.errors import DataError, Interrupted, LimitError
from seqloom.runs.held_out import HeldOut
from seqloom.runs.process import stop_signals
from seqloom.store import RunDirectory
from seqloom.tokenizers.interruptible import run_interruptibly
from tests.cli.support import Command
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, assert_same, at, options, trained, write_pairs

FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("sound"))


def test_ignored_signals_stay_ignored() -> None:
    """As nohup leaves SIGHUP, and a shell the interrupts of what it runs in the background."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        with stop_signals() as stop:
            stop.defer()
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGINT)
            assert not stop.asked
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_lost_log_is_no_reason_to_stop(capfd: pytest.CaptureFixture[str]) -> None:
    """A full disk, or a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open(FULL, os.O_WRONLY)
    for handle in (writing, full):
        before = sys.stderr
        with os.fdopen(handle, "w") as lost:
            sys.stderr = lost
            try:
                with tolerate_lost_log():
                    for _ in range(3):
                        print("update 1", file=sys.stderr, flush=True)
            finally:
                sys.stderr = before
    assert capfd.readouterr() == ("", "")


def test_an_output_that_cannot_be_written(
    run: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence and the exit code for data, however late the disk says that it is full."""
    with os.fdopen(os.open(FULL, os.O_WRONLY), "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        ended = command("predict", run, stdin=b"aei\n" * 3)
        monkeypatch.undo()
    assert ended.code == DataError.exit_code
    assert "standard output: cannot be written (No space left on device); free" in ended.sentence


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.EMFILE, "Too many open files"), LimitError, "ulimit -n"),
        (OSError(errno.ENOSPC, "No space left", "out.txt"), DataError, "out.txt: cannot be"),
        (MemoryError(), LimitError, "not enough memory; what was saved stays"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), LimitError, "ulimit -v"),
        (RuntimeError("can't start new thread"), LimitError, "ulimit -u"),
    ],
)
def test_limits_of_the_system_are_one_sentence(
    error: Exception, kind: type[Exception], words: str
) -> None:
    told = system_error(error)
    assert type(told) is kind
    assert words in str(told)
    assert system_error(RuntimeError("a fault of ours")) is None


def test_a_limit_on_file_sizes_is_named(tmp_path: Path, command: Command) -> None:
    """It is no matter of permissions; what was saved stays."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    pairs = write_pairs(tmp_path / "pairs.tsv")
    train(pairs, tmp_path / "run", options=options(), until=4)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, before[1]))
        ended = command("train", pairs, "--run", tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.code == 4
    assert "File too large; raise the limit on the size of files (ulimit -f)" in ended.sentence
    latest = RunDirectory(tmp_path / "run").latest_checkpoint()
    assert latest is not None
    assert latest.number == 4


def test_a_signal_is_heard_while_compiled_code_runs() -> None:
    """SIGTERM within two seconds, as where a vocabulary of subwords is learnt."""
    began = time.monotonic()
    with stop_signals(), pytest.raises(Interrupted):
        run_interruptibly(_signal_and_sleep)
    assert time.monotonic() - began < 10
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)


STOPPED_AT_WORK = """
import atexit, os, signal, sys, time
from seqloom.errors import Interrupted
from seqloom.runs.process import stop_signals
from seqloom.tokenizers.interruptible import run_interruptibly

def work():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

atexit.register(os.write, 1, b"taken down")
try:
    with stop_signals():
        run_interruptibly(work)
except Interrupted as error:
    sys.exit(error.exit_code)
"""


def test_python_is_not_taken_down_around_compiled_code() -> None:
    """Coming back from it then, its thread would have C++ abort the process."""
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED_AT_WORK], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (Interrupted.exit_code, b""), ended.stderr


def test_a_signal_ends_a_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is saved, and validated first when the run goes on: the same bits in the end."""
    chosen = options(updates=8, validate_every=4)
    trained(tmp_path / "whole", chosen)
    for step in (4, 4, 8):  # the second when it would make up for the first
        with monkeypatch.context() as patch:
            patch.setattr(HeldOut, "row_loss", _interrupt_at(tmp_path / "run", step))
            with pytest.raises(Interrupted, match=f"step {step} is saved"):
                trained(tmp_path / "run", chosen)
    trained(tmp_path / "run", chosen)
    assert_same(tmp_path / "run", tmp_path / "whole")


def _interrupt_at(run: Path, step: int) -> Callable[..., float]:
    """The loss of held-out rows; a signal comes in between where this step is measured."""
    loss, earlier = HeldOut.row_loss, step - 4

    def measured(*arguments: Any) -> float:
        latest = RunDirectory(run).latest_checkpoint()
        validated = latest is not None and any(
            each["step"] == earlier for each in latest.progress()["validations"]
        )
        if validated or not earlier:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss(*arguments)

    return measured


def _signal_and_sleep() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20)


def test_a_signal_before_a_validation_is_due(tmp_path: Path) -> None:
    """What was asked during the update is not put off by the validation after it."""
    chosen = options(updates=8, validate_every=4)
    with pytest.raises(Interrupted, match="step 4 is saved"):
        train(
            PAIRS,
            tmp_path / "run",
            options=chosen,
            watch=at(4, lambda: os.kill(os.getpid(), signal.SIGINT)),
        )
    latest = RunDirectory(tmp_path / "run").latest_checkpoint()
    assert latest is not None
    assert latest.progress()["validations"] == []


def test_events_say_when(run: Path) -> None:
    """The run's own record has the time of day."""
    times = [each["time"] for each in RunDirectory(run).events()]
    assert times
    assert times == sorted(times)
    assert all(each.endswith("+00:00") for each in times)


def test_what_to_try_can_be_pasted(run: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "my run; rm -r x"
    spaced.symlink_to(run)
    assert example_command(spaced, "a b.tsv").endswith(f"seqloom predict '{spaced}'")
