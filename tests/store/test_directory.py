"""The run directory's laws: round trips, one writer, durable order, pruning, averaging."""

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.errors import DivergedError, RunError
from seqloom.store import RunDirectory, SkippedCheckpoint
from seqloom.store.tensors import Tensors, average_tensors
from tests.counts import count
from tests.store.support import (
    assert_is,
    contents,
    files_below,
    in_child,
    new_run,
    operations,
    progress_of,
    save,
)

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=count(25, 200))
@given(
    shapes=st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
    progress=st.dictionaries(st.text(), JSON, max_size=4),
)
def test_saved_is_loaded(
    shapes: list[list[int]],
    seed: int,
    progress: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Tensors of every kind and shape, and progress, come back bit for bit, in order of name."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        f"t{place}": (torch.randn(shape, generator=generator) * 99).to(DTYPES[(seed + place) % 8])
        for place, shape in reversed(list(enumerate(shapes)))
    }
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    run.save_checkpoint(7, {"model": tensors}, progress=progress)
    step = run.latest_checkpoint()
    assert step is not None
    loaded = step.load()
    assert list(loaded) == sorted(tensors)
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)
    assert step.progress() == progress
    assert step.names() == ["model"]


def test_views_ties_and_arrays(tmp_path: Path) -> None:
    """Tied names, transposed views and numpy arrays are saved as the values they show."""
    table = torch.arange(12.0).reshape(3, 4)
    run = RunDirectory(tmp_path / "run")
    run.create("")
    tensors: Tensors = {"a": table, "b": table, "c": table.T, "d": table[:, 1:3], "e": np.arange(3)}
    run.save_checkpoint(1, {"model": tensors}, progress={})
    step = run.latest_checkpoint()
    assert step is not None
    loaded = step.load()
    assert all(torch.equal(loaded[name], torch.as_tensor(tensors[name])) for name in tensors)
    loaded["a"].zero_()
    assert torch.equal(loaded["b"], table)


def test_the_same_step_is_the_same_bytes(tmp_path: Path) -> None:
    """A step's files are a function of its contents, whatever process and order they come from."""
    first, second = new_run(tmp_path / "a", 3), new_run(tmp_path / "b")
    files = {name: dict(reversed(tensors.items())) for name, tensors in contents(3).items()}

    def other() -> None:
        second.save_checkpoint(3, files, progress=progress_of(3))

    os.waitpid(in_child(other), 0)
    assert files_below(first.path / "step-000003") == files_below(second.path / "step-000003")


@pytest.mark.faults
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_tensor_that_is_not_finite_is_not_saved(bad: float, tmp_path: Path) -> None:
    """A8: DivergedError, exit 5, names the tensor; the directory is as it was."""
    run = new_run(tmp_path / "run", 1)
    before = files_below(run.path)
    chance = np.random.default_rng(0)
    for _ in range(count(8, 34)):
        files = contents(2)
        place = ["model", "optimizer", "average"][chance.integers(3)]
        name = ["weight", "bias"][chance.integers(2)]
        flat = files[place][name].view(-1)
        flat[int(chance.integers(len(flat)))] = bad
        with pytest.raises(DivergedError, match=f"{place}: tensor {name} is not finite") as caught:
            run.save_checkpoint(2, files, progress=progress_of(2))
        assert caught.value.exit_code == 5
        assert files_below(run.path) == before
    with pytest.raises(DivergedError, match="progress"):
        run.save_checkpoint(2, contents(2), progress={"best": bad})
    assert files_below(run.path) == before


def test_a_step_that_could_not_be_read_is_not_saved(tmp_path: Path) -> None:
    """Names that loading would refuse are refused in saving."""
    run = new_run(tmp_path / "run")
    before = files_below(run.path)
    wrong: list[dict[str, Tensors]] = [{"optimizer": {}}, {"model": {}, "../model": {}}]
    for files in wrong:
        with pytest.raises(RunError):
            run.save_checkpoint(1, files, progress={})
        assert files_below(run.path) == before


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The inode and size of whatever the disk was asked to have, in order."""
    seen: list[tuple[int, int]] = []
    sync = os.fsync

    def recording(handle: int) -> None:
        state = os.fstat(handle)
        seen.append((state.st_ino, state.st_size))
        sync(handle)

    monkeypatch.setattr(os, "fsync", recording)
    return seen


def test_whatever_is_renamed_is_on_the_disk(tmp_path: Path, synced: list[tuple[int, int]]) -> None:
    """Files and their directory are synced, the manifest last; then the rename; then the parent."""
    run = new_run(tmp_path / "run", 1)
    synced.clear()
    seen = operations(lambda: save(run, 2))
    step = run.path / "step-000002"
    rename = seen.index(("rename", step))
    written = [path.name for operation, path in seen[:rename] if operation == "open"]
    assert written[-1] == "manifest.json"
    assert sorted(written) == sorted(path.name for path in step.iterdir())
    inodes = [inode for inode, _ in synced]
    files = {path.stat().st_ino: path.stat().st_size for path in step.iterdir()}
    assert {inode: size for inode, size in synced if inode in files} == files
    assert inodes[-3:] == [
        (step / "manifest.json").stat().st_ino,
        step.stat().st_ino,
        run.path.stat().st_ino,
    ]
    assert [operation for operation, _ in seen[rename:]] == ["rename", "sync"]


def test_a_new_run_and_cut_events_are_on_the_disk(
    tmp_path: Path, synced: list[tuple[int, int]]
) -> None:
    """Fields are synced, then config.toml, then its directory; events that were cut likewise."""
    run = RunDirectory(tmp_path / "run")
    field = run.fields_directory / "source" / "field.json"
    field.parent.mkdir(parents=True)
    field.write_text("{}")
    run.create("seed = 1\n")
    expected = [field, field.parent, run.fields_directory, run.path / "config.toml", run.path]
    assert [inode for inode, _ in synced[:5]] == [path.stat().st_ino for path in expected]
    run.append_event({"step": 3})
    synced.clear()
    run.truncate_events(1)
    expected = [run.path / "events.jsonl", run.path]
    assert [inode for inode, _ in synced] == [path.stat().st_ino for path in expected]


def test_pruning_keeps_what_is_asked_and_two_sound_steps(tmp_path: Path) -> None:
    """The wanted steps stay, and the two newest that verify, however many newer are damaged."""
    run = new_run(tmp_path / "run", 1, 2, 3, 4, 5, 6)
    for step in (5, 6):
        (run.path / f"step-00000{step}" / "model.safetensors").write_bytes(b"")
    run.prune({1})
    assert [step.number for step in run.checkpoints()] == [1, 3, 4]
    assert_is(run.latest_checkpoint(), 4)
    run.prune(set())
    assert [step.number for step in run.checkpoints()] == [3, 4]


def test_average_is_the_mean(tmp_path: Path) -> None:
    """The float64 mean of several sets in the tensors' own type; counters are the last set's."""
    run = new_run(tmp_path / "run", 1, 2, 5)
    sets = [step.load() for step in run.checkpoints()]
    result = average_tensors(sets)
    assert result["count"].item() == 5
    for name in ("weight", "bias"):
        mean = np.mean([tensors[name].double().numpy() for tensors in sets], axis=0)
        assert result[name].dtype == sets[0][name].dtype
        np.testing.assert_allclose(result[name].numpy(), mean, rtol=1e-6)
        assert torch.equal(average_tensors(sets)[name], result[name])
    alone = average_tensors(sets[:1])
    assert all(torch.equal(alone[name], sets[0][name]) for name in alone)


def test_average_of_unlike_sets_is_refused(tmp_path: Path) -> None:
    """Sets of other shapes have no mean."""
    run = new_run(tmp_path / "run", 1)
    save(run, 2, size=25)
    with pytest.raises(RunError):
        average_tensors(step.load() for step in run.checkpoints())


@pytest.mark.faults
def test_a_second_writer_is_refused_at_once(tmp_path: Path) -> None:
    """A8: it is told who holds the lock; when the holder is killed the lock is free."""
    run = new_run(tmp_path / "run", 1)
    for _ in range(count(3, 20)):
        ready, tell = os.pipe()

        def hold(tell: int = tell) -> None:
            with run.lock():
                os.write(tell, b"x")
                time.sleep(60)

        child = in_child(hold)
        try:
            os.read(ready, 1)
            start = time.process_time()  # whatever else the machine does
            with pytest.raises(RunError, match=f"process {child} ") as caught, run.lock():
                pass
            assert caught.value.exit_code == 4
            assert time.process_time() - start < 1
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(ready)
            os.close(tell)
        with run.lock():
            save(run, 2)


def test_the_lock_removes_only_what_is_unfinished(tmp_path: Path) -> None:
    """What a dead writer left goes; the user's own hidden files stay."""
    run = new_run(tmp_path / "run", 1)
    (run.path / ".seqloom-99-step-000002").mkdir()
    (run.path / ".seqloom-99-step-000002" / "model.safetensors").write_bytes(b"half")
    (run.path / ".gitignore").write_text("cache/\n")
    with run.lock():
        names = {path.name for path in run.path.iterdir()}
    assert names == {"config.toml", "events.jsonl", "lock", "step-000001", ".gitignore"}


def test_the_lock_is_free_after_an_error(tmp_path: Path) -> None:
    """Leaving the block by an exception, which passes unchanged, releases the lock."""
    run = new_run(tmp_path / "run")
    with pytest.raises(FileNotFoundError, match="mine"), run.lock():
        raise FileNotFoundError("mine")
    with run.lock():
        pass


def test_a_place_without_a_run(tmp_path: Path) -> None:
    """A reader is told how to make a run; a writer does not move into a folder of other things."""
    run = RunDirectory(tmp_path / "none")
    with pytest.raises(RunError, match="seqloom.train"):
        run.config_text()
    with pytest.raises(RunError):
        run.checkpoints()
    (tmp_path / "thesis.txt").write_text("mine")
    for path, wanted in ((tmp_path, "thesis.txt"), (tmp_path / "thesis.txt", "thesis.txt")):
        with pytest.raises(RunError, match=wanted), RunDirectory(path).lock():
            pass
        with pytest.raises(RunError, match=wanted):
            RunDirectory(path).create("")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_run_nearby_is_named(tmp_path: Path) -> None:
    """One of a similar name, or one inside the folder that was named in its place."""
    (tmp_path / "runs" / "names").mkdir(parents=True)
    (tmp_path / "runs" / "names" / "config.toml").write_text("")
    for tried, cure in (
        ("runs/nmes", f"did you mean {tmp_path}/runs/names[?]"),
        ("runs", f"name a run in it, such as {tmp_path}/runs/names$"),
        ("runs/entirely-other", "seqloom.train"),
    ):
        with pytest.raises(RunError, match=f"no run is here; .*{cure}"):
            RunDirectory(tmp_path / tried).config_text()


@settings(max_examples=count(15, 100))
@given(events=st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=4))
def test_events_are_told_as_they_were_written(
    events: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Events come back in order; a last line cut anywhere is passed over, and the next is whole."""
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    for event in events:
        run.append_event(event)
    path = run.path / "events.jsonl"
    data = path.read_bytes()
    assert data.count(b"\n") == len(events)
    last = len(data.rpartition(b"\n")[0].rpartition(b"\n")[2])
    assert list(run.events()) == events
    for cut in range(1, min(last, 40)):
        path.write_bytes(data[:-cut])
        told = list(run.events())
        assert told == events[:-1] or (cut == 1 and told == events)
        run.append_event({"step": 1})
        assert list(run.events()) == [*told, {"step": 1}]


def test_events_after_a_step_are_cut(tmp_path: Path) -> None:
    """Cutting keeps the events up to the step and those of no step; infinities became null."""
    run = new_run(tmp_path / "run", 1, 2, 3)
    run.append_event({"kind": "note", "values": (1.0, math.inf, {"x": math.nan})})
    run.truncate_events(2)
    assert [event.get("step") for event in run.events()] == [1, 2, None]
    assert list(run.events())[-1]["values"] == [1.0, None, {"x": None}]
    empty = RunDirectory(tmp_path / "other")
    empty.create("")
    empty.truncate_events(0)
    assert list(empty.events()) == []


def test_skipped_is_only_filled_when_asked(tmp_path: Path) -> None:
    """A sound newest step is found without a word about older damage."""
    run = new_run(tmp_path / "run", 1, 2)
    (run.path / "step-000001" / "progress.json").write_text("{}")
    skipped: list[SkippedCheckpoint] = []
    assert_is(run.latest_checkpoint(skipped), 2)
    assert skipped == []
