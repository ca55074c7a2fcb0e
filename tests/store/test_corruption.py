"""RELIABILITY A6: a step that is not as it was saved is noticed, named and passed over."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seqloom.errors import RunError
from seqloom.randomness import key
from seqloom.store import RunDirectory, SkippedCheckpoint
from tests.counts import count
from tests.store.support import assert_is, new_run

FILES = [
    "model.safetensors",
    "optimizer.safetensors",
    "average.safetensors",
    "progress.json",
    "manifest.json",
]
Damage = Callable[[Path, Path, random.Random], None]


def truncate(path: Path, other: Path, chance: random.Random) -> None:
    """Cut the file anywhere."""
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def flip(path: Path, other: Path, chance: random.Random) -> None:
    """Flip one bit anywhere."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def swap(path: Path, other: Path, chance: random.Random) -> None:
    """Exchange the file with the one of its name in the step before."""
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


def copy_over(path: Path, other: Path, chance: random.Random) -> None:
    """Put the file of the step before in its place."""
    shutil.copyfile(other, path)


def remove(path: Path, other: Path, chance: random.Random) -> None:
    """Lose the file."""
    path.unlink()


def lengthen(path: Path, other: Path, chance: random.Random) -> None:
    """Add bytes at the end."""
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randrange(1, 9)))


def blank(path: Path, other: Path, chance: random.Random) -> None:
    """Turn a stretch into zeros, as a lost block does."""
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data))
    data[start : start + 64] = bytes(len(data[start : start + 64]))
    if data == path.read_bytes():
        data[start] ^= 1
    path.write_bytes(data)


DAMAGES: list[Damage] = [truncate, flip, swap, copy_over, remove, lengthen, blank]


@pytest.mark.faults
def test_random_corruption_is_detected(tmp_path: Path) -> None:
    """The damaged step is passed over with a sentence that names it, and the one before is used."""
    base = new_run(tmp_path / "base", 1, 2, 3)
    for trial in range(count(200, 3_000)):
        chance = random.Random(key(0, "corruption", trial))
        run = RunDirectory(shutil.copytree(base.path, tmp_path / "run"))
        damage, name = chance.choice(DAMAGES), chance.choice(FILES)
        newest, before = run.path / "step-000003", run.path / "step-000002"
        damage(newest / name, before / name, chance)
        skipped: list[SkippedCheckpoint] = []
        found = run.latest_checkpoint(skipped)
        sound = 1 if damage is swap else 2
        assert_is(found, sound)
        assert [step for step, _ in skipped] == list(range(3, sound, -1)), (trial, damage)
        assert all("step-00000" in why and "\n" not in why for _, why in skipped)
        with pytest.raises(RunError):
            read_with(run, name)
        shutil.rmtree(run.path)


def read_with(run: RunDirectory, damaged: str) -> None:
    """Read what depends on a file of the newest step, without asking first whether it verifies."""
    step = run.checkpoints()[-1]
    for name in FILES[:3]:
        if damaged in (name, "manifest.json"):
            step.load(name.removesuffix(".safetensors"))
    if damaged in ("progress.json", "manifest.json"):
        step.progress()


@pytest.mark.faults
def test_every_bit_of_a_manifest_counts(tmp_path: Path) -> None:
    """No single flipped bit of a manifest goes unnoticed (quickly: every seventh)."""
    run = new_run(tmp_path / "run", 1)
    path = run.path / "step-000001" / "manifest.json"
    data = path.read_bytes()
    for bit in range(0, 8 * len(data), count(7, 1)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert run.latest_checkpoint() is None


def test_a_step_under_another_number_is_refused(tmp_path: Path) -> None:
    """Directories that trade names are both noticed, although every file fits its manifest."""
    run = new_run(tmp_path / "run", 1, 2, 3)
    (run.path / "step-000002").rename(run.path / "aside")
    (run.path / "step-000003").rename(run.path / "step-000002")
    (run.path / "aside").rename(run.path / "step-000003")
    skipped: list[SkippedCheckpoint] = []
    assert_is(run.latest_checkpoint(skipped), 1)
    assert [step for step, _ in skipped] == [3, 2]


def test_nothing_sound_is_none_with_all_reasons(tmp_path: Path) -> None:
    """When every step is damaged there is no latest, and each is named."""
    run = new_run(tmp_path / "run", 1, 2)
    for step in run.checkpoints():
        (step.path / "model.safetensors").unlink()
    skipped: list[SkippedCheckpoint] = []
    assert run.latest_checkpoint(skipped) is None
    assert [step for step, _ in skipped] == [2, 1]
