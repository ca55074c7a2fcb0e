"""RELIABILITY A7: a hostile run directory is refused quickly, and nothing outside it is touched."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.errors import RunError
from seqloom.store import RunDirectory, SkippedCheckpoint, durable
from tests.store.hostile import SPOILED_RUNS, SPOILED_STEPS, Builder
from tests.store.support import assert_is, new_run, save

pytestmark = pytest.mark.faults

CANARY = "sings"
LIMIT = 1.0  # seconds of processor time, whatever else the machine does
NOT_FILES = ("link", "pipe", "folder", "listen")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to spoil copies of."""
    return new_run(tmp_path_factory.mktemp("sound") / "run", 1, 2).path


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A file outside the run, in a folder of its own, that must stay as it is."""
    path = tmp_path / "outside" / "canary"
    path.parent.mkdir()
    path.write_text(CANARY)
    state = path.stat()
    yield path
    assert path.read_text() == CANARY
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (state.st_mtime_ns, state.st_ino)
    assert {entry.name for entry in path.parent.iterdir()} <= {"canary", "moved"}


def read_all(run: RunDirectory) -> None:
    """Read a run as far as a user of it would; RunError at the first thing that is wrong."""
    run.config_text()
    skipped: list[SkippedCheckpoint] = []
    step = run.latest_checkpoint(skipped)
    if step is None:
        raise RunError("; ".join(why for _, why in skipped))
    step.progress()
    for name in step.names():
        step.load(name)


def write_all(run: RunDirectory) -> None:
    """Write to a run all that training would."""
    with run.lock():
        run.config_text()
        (run.fields_directory / "source").mkdir(parents=True, exist_ok=True)
        (run.cache_directory / "encoded").mkdir(parents=True, exist_ok=True)
        run.truncate_events(1)
        run.append_event({"step": 2})


def test_there_are_enough_ways() -> None:
    """The table asks for 200."""
    assert len(SPOILED_STEPS) + len(SPOILED_RUNS) >= 200


def test_the_sound_run_is_accepted(sound: Path, tmp_path: Path, canary: Path) -> None:
    """Unspoiled, the same run passes both ways, so that it is the spoiling that is refused."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    read_all(run)
    write_all(run)


@pytest.mark.parametrize("builder", SPOILED_STEPS.values(), ids=SPOILED_STEPS.keys())
def test_a_hostile_step_is_refused(
    builder: Builder, sound: Path, tmp_path: Path, canary: Path
) -> None:
    """RunError of one sentence within a second."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    builder(run.path, canary)
    start = time.process_time()
    with pytest.raises(RunError) as caught:
        read_all(run)
    assert time.process_time() - start < LIMIT
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in SPOILED_STEPS if name.startswith(NOT_FILES)])
def test_a_hostile_step_gives_way(name: str, sound: Path, tmp_path: Path, canary: Path) -> None:
    """Whatever stands in the place of a step or of its model, sound steps can take its place."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    SPOILED_STEPS[name](run.path, canary)
    with run.lock():
        save(run, 2)
        save(run, 3)
        run.prune({3})
    assert [step.number for step in run.checkpoints()] == [2, 3]
    assert_is(run.latest_checkpoint(), 3)


@pytest.mark.parametrize("builder", SPOILED_RUNS.values(), ids=SPOILED_RUNS.keys())
def test_a_hostile_run_is_refused(
    builder: Builder, sound: Path, tmp_path: Path, canary: Path
) -> None:
    """Training on it stops with a RunError within a second and writes through nothing it found."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    builder(run.path, canary)
    start = time.process_time()
    with pytest.raises(RunError) as caught:
        write_all(run)
    assert time.process_time() - start < LIMIT
    assert "\n" not in str(caught.value)


def test_what_is_unfinished_is_removed_without_following_links(
    sound: Path, tmp_path: Path, canary: Path
) -> None:
    """Links under the names that a new writer clears away are removed, not what they lead to."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    (run.path / ".seqloom-1-step-000003").symlink_to(canary.parent)
    (run.path / ".seqloom-2-step-000003").mkdir()
    (run.path / ".seqloom-2-step-000003" / "deep").symlink_to(canary.parent)
    (run.path / ".seqloom-displaced-step-000002").symlink_to(canary.parent)
    with run.lock():
        assert_is(run.latest_checkpoint(), 2)
    assert not [path for path in run.path.iterdir() if path.name.startswith(".")]


def test_a_configuration_that_is_no_text(sound: Path, tmp_path: Path) -> None:
    """A configuration that is not UTF-8 or too large is refused with its place."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    for data in (b"seed = \xff", b"#" * (2 << 20)):
        (run.path / "config.toml").write_bytes(data)
        with pytest.raises(RunError, match=r"config\.toml"):
            run.config_text()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_appended_through_a_link_or_a_pipe(
    kind: str, tmp_path: Path, canary: Path
) -> None:
    """Appending refuses at once what is not a file, even if nobody looked before."""
    path = tmp_path / "events.jsonl"
    if kind == "link":
        path.symlink_to(canary)
    else:
        os.mkfifo(path)
    with pytest.raises(OSError, match=r"symbolic|No such device"):
        durable.append(path, b"more")
