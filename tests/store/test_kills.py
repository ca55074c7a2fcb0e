"""RELIABILITY A1, A2, A4: a process that dies in a save loses at most the step it was saving."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from seqloom.randomness import key
from seqloom.store import RunDirectory, SkippedCheckpoint
from tests.counts import count
from tests.store.support import (
    KILLED,
    Failing,
    assert_is,
    files_below,
    in_child,
    killed_at,
    new_run,
    operations,
    save,
)

Work = Callable[[RunDirectory], object]
LARGE = 100_000  # two chunks of a megabyte a file


def save_next(run: RunDirectory) -> None:
    """What training does at every save."""
    with run.lock():
        save(run, 3)
        run.prune({2, 3})


def save_large(run: RunDirectory) -> None:
    """A step whose files are written in several pieces."""
    with run.lock():
        save(run, 3, size=LARGE)


def save_again(run: RunDirectory) -> None:
    """A step that takes the place of the one of its number."""
    with run.lock():
        save(run, 2)


def cut(run: RunDirectory) -> None:
    """What resuming does to the events."""
    with run.lock():
        run.truncate_events(1)


WORK: dict[str, tuple[Work, int]] = {
    "next": (save_next, 24),
    "large": (save_large, LARGE),
    "again": (save_again, 24),
    "events": (cut, 24),
}


@pytest.mark.faults
@pytest.mark.parametrize("name", WORK)
def test_kill_at_every_durable_operation(name: str, tmp_path: Path) -> None:
    """A1: an old step or the new one loads, bit for bit; done again, the work ends the same."""
    work, size = WORK[name]
    base = new_run(tmp_path / "base", 1, 2)
    whole = RunDirectory(shutil.copytree(base.path, tmp_path / "whole"))
    total = len(operations(lambda: work(whole)))
    for repeat in range(count(1, 3)):
        for operation in range(total):
            run = RunDirectory(shutil.copytree(base.path, tmp_path / f"{operation}-{repeat}"))
            assert killed_at(operation, partial(work, run)) == KILLED
            check_survivor(run, size=size)
            work(run)
            assert files_below(run.path) == files_below(whole.path)
            shutil.rmtree(run.path)
    assert killed_at(total, lambda: work(base)) == 0


def check_survivor(run: RunDirectory, *, size: int) -> None:
    """A reader finds only whole steps; a writer finds what was there before or what was saved."""
    skipped: list[SkippedCheckpoint] = []
    step = run.latest_checkpoint(skipped)
    assert skipped == []
    assert step is not None
    assert_is(step, step.number, size=size if step.number == 3 else 24)
    with run.lock():
        step = run.latest_checkpoint(skipped)
    assert step is not None
    assert step.number in (2, 3)
    assert skipped == []
    assert [path.name for path in run.path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.faults
def test_kill_at_random_instants(tmp_path: Path) -> None:
    """A2: whenever the process dies, the newest step is whole and the run can be gone on with."""
    run = new_run(tmp_path / "run", 0)
    ready, tell = os.pipe()

    def save_for_ever() -> None:
        with run.lock():
            step = run.checkpoints()[-1].number
            while True:
                step += 1
                save(run, step)
                os.write(tell, b"x")
                run.append_event({"step": step})
                run.prune({step})

    chance = random.Random(key(0, "instants"))
    reached = 0
    for _ in range(count(8, 200)):
        child = in_child(save_for_ever)
        os.read(ready, 1)  # one step is saved; the instant falls into what follows
        time.sleep(chance.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.set_blocking(ready, False)
        with suppress(BlockingIOError):
            os.read(ready, 1 << 16)
        os.set_blocking(ready, True)
        skipped: list[SkippedCheckpoint] = []
        step = run.latest_checkpoint(skipped)
        assert step is not None
        assert skipped == []
        assert step.number > reached
        assert_is(step, step.number)
        reached = step.number
    os.close(ready)
    os.close(tell)


def test_a_run_appears_only_when_complete(tmp_path: Path) -> None:
    """A1: a process that dies while it makes a run leaves either no run or all of it."""
    for operation in range(100):
        run = RunDirectory(tmp_path / str(operation))

        def make(run: RunDirectory = run) -> None:
            with run.lock():
                (run.fields_directory / "source").mkdir(parents=True, exist_ok=True)
                (run.fields_directory / "source" / "field.json").write_text("{}")
                run.create("seed = 1\n")

        died = killed_at(operation, make) == KILLED
        if run.exists:
            assert run.config_text() == "seed = 1\n"
        make()
        assert files_below(run.path) == {
            "config.toml": b"seed = 1\n",
            "fields/source/field.json": b"{}",
        }
        if not died:
            break
    assert operation >= 6


@pytest.mark.faults
def test_an_exception_inside_a_save_leaves_nothing(tmp_path: Path) -> None:
    """A4: a signal that becomes an exception at any operation of a save leaves no trace of it."""
    run = new_run(tmp_path / "run", 1)
    other = new_run(tmp_path / "other", 1)
    seen = [operation for operation, _ in operations(lambda: save(other, 2))]
    before = files_below(run.path)
    for at in range(len(seen)):
        with Failing(at, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
            save(run, 2)
        if at <= seen.index("rename"):
            assert files_below(run.path) == before
    assert_is(run.latest_checkpoint(), 2)
