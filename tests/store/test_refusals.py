"""RELIABILITY A5: what the disk refuses costs the step that was being saved, and nothing else."""

import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.errors import RunError
from seqloom.store import RunDirectory, SkippedCheckpoint
from tests.counts import count
from tests.store.support import (
    Failing,
    assert_is,
    files_below,
    in_child,
    new_run,
    operations,
    save,
)

CODES = [errno.ENOSPC, errno.EIO, errno.EACCES]


def visible(run: RunDirectory) -> list[str]:
    """The names that a reader may take for a step."""
    return sorted(path.name for path in run.path.iterdir() if path.name.startswith("step-"))


@pytest.mark.faults
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("code", CODES, ids=lambda code: errno.errorcode[code])
def test_refusal_at_every_durable_operation(code: int, lasting: bool, tmp_path: Path) -> None:
    """One sentence, exit 4; a whole step loads, no partial one shows; then saving works again."""
    base = new_run(tmp_path / "base", 1)
    whole = RunDirectory(shutil.copytree(base.path, tmp_path / "whole"))
    seen = [operation for operation, _ in operations(lambda: save(whole, 2))]
    for at in range(len(seen)):
        run = RunDirectory(shutil.copytree(base.path, tmp_path / str(at)))
        refusal = OSError(code, os.strerror(code))
        with Failing(at, refusal, lasting=lasting), pytest.raises(RunError) as caught:
            save(run, 2)
        message = str(caught.value)
        assert caught.value.exit_code == 4
        assert message.startswith(str(run.path))
        assert os.strerror(code) in message
        assert "\n" not in message
        skipped: list[SkippedCheckpoint] = []
        assert_is(run.latest_checkpoint(skipped), 1 if at <= seen.index("rename") else 2)
        assert skipped == []
        with run.lock():
            save(run, 2)
        assert files_below(run.path) == files_below(whole.path)


@pytest.mark.faults
@pytest.mark.parametrize("code", CODES, ids=lambda code: errno.errorcode[code])
def test_refusal_while_replacing_or_pruning(code: int, tmp_path: Path) -> None:
    """A step that cannot be replaced stays; one that cannot be removed is not left half there."""
    base = new_run(tmp_path / "base", 1, 2, 3, 4)

    def work(run: RunDirectory) -> None:
        save(run, 4)
        run.prune({4})

    whole = RunDirectory(shutil.copytree(base.path, tmp_path / "whole"))
    for at in range(len(operations(lambda: work(whole)))):
        run = RunDirectory(shutil.copytree(base.path, tmp_path / str(at)))
        refusal = OSError(code, os.strerror(code))
        with Failing(at, refusal), pytest.raises(RunError):
            work(run)
        assert_is(run.latest_checkpoint(), 4)
        with run.lock():
            skipped: list[SkippedCheckpoint] = []
            assert_is(run.latest_checkpoint(skipped), 4)
            assert skipped == []
            for step in run.checkpoints():
                step.verify()
            work(run)
        assert files_below(run.path) == files_below(whole.path)


@pytest.mark.faults
def test_refused_events_and_configuration(tmp_path: Path) -> None:
    """Events that cannot be written or cut are a RunError, and those written before stay."""
    run = new_run(tmp_path / "run", 1, 2)
    before = list(run.events())
    for at in range(4):
        with Failing(at, OSError(errno.ENOSPC, "full")), pytest.raises(RunError):
            run.truncate_events(1)
        if at < 3:
            assert list(run.events()) == before
    for at in range(2):
        with Failing(at, OSError(errno.ENOSPC, "full")), pytest.raises(RunError):
            run.append_event({"step": 3})
    for at in range(4):
        other = RunDirectory(tmp_path / str(at))
        with Failing(at, OSError(errno.EACCES, "no")), pytest.raises(RunError):
            other.create("seed = 1\n")
        assert not other.exists or other.config_text() == "seed = 1\n"


@pytest.mark.faults
def test_file_that_the_system_cuts_short(tmp_path: Path) -> None:
    """A real refusal half-way through a file (a limit on its size) leaves the previous step."""
    run = new_run(tmp_path / "run", 1)
    before = files_below(run.path)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        with pytest.raises(RunError):
            save(run, 2, size=1000)

    _, status = os.waitpid(in_child(limited), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert files_below(run.path) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=256k", "seqloom", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.faults
def test_full_disk(small_disk: Path) -> None:
    """On a disk that is full in earnest every save fails cleanly until there is room again."""
    run = new_run(small_disk / "run", 1)
    for size in range(1_000, 1_000 + count(10, 100)):
        filler = small_disk / "filler"
        free = shutil.disk_usage(small_disk).free
        filler.write_bytes(bytes(max(free - 12 * (size - 990) * 100, 0)))
        with pytest.raises(RunError, match="free some space"):
            save(run, 2, size=20 * size)
        assert visible(run) == ["step-000001"]
        assert_is(run.latest_checkpoint(), 1)
        filler.unlink()
    save(run, 2)
    assert_is(run.latest_checkpoint(), 2)
