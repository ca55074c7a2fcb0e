"""Resuming with other data says which file changed and how; a failed start leaves nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.support import Command

QUICK = ["--set", "training.updates=2", "--set", "training.validate_every=1"]
ROWS = [(f"{a}{b}", f"{b}{a}") for a in "abcdef" for b in "ghijkl"]


def write(place: Path, rows: Sequence[tuple[str, ...]]) -> Path:
    place.write_text("".join("\t".join(row) + "\n" for row in rows))
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resume")


def test_other_data_is_told_by_file_and_difference(command: Command, folder: Path) -> None:
    train, valid = write(folder / "train.tsv", ROWS), write(folder / "valid.tsv", ROWS[:6])
    asked = ("--valid", valid, "--run", folder / "run", *QUICK)
    begun = command("train", train, *asked)
    assert begun.code == 0, begun.err
    cache = {path: path.read_bytes() for path in (folder / "run" / "cache").rglob("*.values")}

    write(train, ROWS[:30])
    refused = command("train", train, *asked)
    assert refused.code == 3
    changed = f"{train}: not the data that {folder / 'run'} was trained on so far: it has 30 lines"
    assert changed + " where it had 36 and has the SHA-256 " in refused.sentence

    write(train, [(*row, "more") for row in ROWS])
    refused = command("train", train, *asked)
    assert "it has 3 columns where it had 2 and has the SHA-256 " in refused.sentence

    other = write(folder / "other.tsv", ROWS)
    refused = command("train", other, *asked)
    assert (
        ": it is called other.tsv where it was train.tsv; choose another --run" in refused.sentence
    )

    write(train, ROWS)
    write(valid, ROWS[:7])
    refused = command("train", train, *asked)
    assert f"{valid}: not the held-out rows that" in refused.sentence
    assert "on so far: it has 7 lines where it had 6" in refused.sentence
    for path, content in cache.items():
        assert path.read_bytes() == content, "what the run has encoded is not replaced"

    write(valid, ROWS[:6])
    assert command("train", train, *asked).code == 0


def test_a_failed_start_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    """Whether the data cannot be read, encoded or held out."""
    tags = write(tmp_path / "tags.tsv", [("a b c", "X Y Z")] * 30 + [("a b c", "X Y")])
    same = write(tmp_path / "same.tsv", [("a", "b")] * 30)
    for data, target in ((tags, "2:tags"), (same, "2"), (tmp_path / "gone.tsv", "2")):
        failed = command("train", data, "--target", target, "--run", tmp_path / "runs" / "new")
        assert failed.code == 3, failed.err
        assert not (tmp_path / "runs").exists(), data
    kept = tmp_path / "kept"
    (kept / "cache").mkdir(parents=True)
    command("train", same, "--run", kept)
    assert [each.name for each in kept.iterdir() if each.name != "lock"] == ["cache"]
