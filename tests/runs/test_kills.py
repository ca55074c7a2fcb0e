"""RELIABILITY A1, A2, A4 for a whole training: processes that die or are told to stop."""

import json
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from seqloom.randomness import key
from seqloom.store import RunDirectory
from tests.counts import count
from tests.runs.nursery import Ended, Nursery, nursery
from tests.runs.support import PRESETS, assert_same, history, last, options, write_pairs

pytestmark = pytest.mark.faults
KILLED = -signal.SIGKILL


class Command:
    """`seqloom train` of a tiny run, at a place of one's choice."""

    def __init__(self, started: Nursery, folder: Path, preset: str) -> None:
        self.started = started
        self.folder = folder
        self.config = folder / "options.toml"
        self.config.write_text(tomli_w.dumps(options(preset, updates=6, validate_every=2)))
        self.data = write_pairs(folder / "pairs.tsv")
        self.whole = folder / "whole"

    def __call__(self, run: Path, **fault: object) -> Ended:
        arguments = ["train", str(self.data), "--run", str(run), "--config", str(self.config)]
        return self.started.run(*arguments, **fault)

    def operations(self) -> list[str]:
        """Run it once without a fault; the durable operations of it, in order."""
        listed = self.folder / "operations"
        listed.write_text("[]")
        ended = self(self.whole, operation=-1, signals=[], count=str(listed))
        assert ended.code == 0, ended.errors
        operations: list[str] = json.loads(listed.read_text())
        return operations


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("nursery")) as process:
        yield process


def check_resumes(command: Command, run: Path) -> None:
    """Whatever happened, the same command goes on and ends as an uninterrupted run does."""
    ended = command(run)
    assert ended.code == 0, ended.errors
    assert_same(run, command.whole)
    assert not [path.name for path in run.iterdir() if path.name.startswith(".")]
    shutil.rmtree(run)


@pytest.mark.parametrize("preset", PRESETS)
def test_kill_at_durable_operations(preset: str, started: Nursery, tmp_path: Path) -> None:
    """A1: killed before any durable operation of a training, no bit of the result differs."""
    command = Command(started, tmp_path, preset)
    total = len(command.operations())
    assert total > 60
    wanted = count(10, 100)
    for operation in sorted({round(n * (total - 1) / (wanted - 1)) for n in range(wanted)}):
        run = tmp_path / f"killed-{operation}"
        assert command(run, operation=operation, signals=[signal.SIGKILL]).code == KILLED
        check_resumes(command, run)


def test_kill_at_random_instants(started: Nursery, tmp_path: Path) -> None:
    """A2: neither does it when the instant is any."""
    command = Command(started, tmp_path, "transformer")
    command.operations()
    chance = random.Random(key(0, "instants"))
    for number in range(count(0, 200)):
        run = tmp_path / f"killed-{number}"
        command(run, after=chance.uniform(0.0, 1.0))
        check_resumes(command, run)


def saves(operations: list[str]) -> list[int]:
    """The operations of the second save: from the first file of it to the end of pruning."""
    makes = [number for number, name in enumerate(operations) if name == "make"]
    return list(range(makes[1], makes[2]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_one_signal_in_a_save(number: signal.Signals, started: Nursery, tmp_path: Path) -> None:
    """A4: the save is finished, the sentence names the step, the exit code is 130."""
    command = Command(started, tmp_path, "transformer")
    inside = saves(command.operations())
    for operation in random.Random(int(number)).sample(inside, count(2, len(inside))):
        run = tmp_path / f"stopped-{operation}"
        ended = command(run, operation=operation, signals=[number])
        assert ended.code == 130
        assert ended.sentence == (
            f"seqloom: stopped; step 4 is saved in {run}: give the same command again to go on"
        )
        assert last(run).number == 4
        assert [each["step"] for each in history(run)] == [2, 4]
        check_resumes(command, run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_two_signals_in_a_save(number: signal.Signals, started: Nursery, tmp_path: Path) -> None:
    """A4: a second signal ends it at once; the step before, or this one, is whole."""
    command = Command(started, tmp_path, "transformer")
    inside = saves(command.operations())
    for operation in random.Random(int(number)).sample(inside, count(1, len(inside))):
        run = tmp_path / f"stopped-{operation}"
        assert command(run, operation=operation, signals=[number, number]).code == 128 + number
        assert last(run).number in (2, 4)
        check_resumes(command, run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_first_update(number: int, started: Nursery, tmp_path: Path) -> None:
    """A4: while the data is prepared there is nothing to save; it ends at once, and can go on."""
    command = Command(started, tmp_path, "transformer")
    operations = command.operations()
    run = tmp_path / "early"
    assert command(run, operation=operations.index("rename"), signals=[number]).code == 130
    assert RunDirectory(run).checkpoints() == []
    check_resumes(command, run)
