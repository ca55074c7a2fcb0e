"""Bad sequences at the command line: one sentence with the place and the cure (S1.1, S1.3)."""

from pathlib import Path

import pytest

from tests.cli.support import Command, command_runner

SMALL = ("--set", "training.updates=1", "--set", "training.workers=1")


@pytest.fixture(name="seqloom")
def seqloom_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_runner(monkeypatch, capsys)


def rows(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_vocabulary_with_a_repeated_symbol(seqloom: Command, tmp_path: Path) -> None:
    data = rows(tmp_path / "pairs.tsv", *["a b\tx y"] * 20)
    words = rows(tmp_path / "words.txt", "x", "y", "x")
    chosen = ("--set", "target.unit=symbol", "--set", f"target.vocabulary={words}")
    result = seqloom("train", data, "--run", tmp_path / "run", *chosen, *SMALL)
    assert result.code != 0
    assert result.sentence == f"{words}:3: the symbol 'x' is in line 1 too; remove one of the two"


def test_a_tag_for_a_step_that_is_not_there(seqloom: Command, tmp_path: Path) -> None:
    good = [f"[{number}, 2]\tup down" for number in range(20)]
    data = rows(tmp_path / "rows.tsv", *good, "[1, 2]\tup down up")
    chosen = ("--source", "1:vectors", "--target", "2:tags", *SMALL)
    result = seqloom("train", data, "--run", tmp_path / "run", *chosen)
    assert result.code != 0
    assert result.sentence == (
        f"{data}:21: the source has 2 steps and the target 3 tags; give each step one tag, or pass "
        "--skip-bad"
    )


def test_windows_of_unequal_width(seqloom: Command, tmp_path: Path) -> None:
    """As cells of a table, and as rows of a table over time."""
    data = rows(tmp_path / "rows.tsv", *["[[1, 2], [3, 4]]\tup"] * 20, "[[1, 2], [3]]\tup")
    chosen: tuple[str, ...] = ("--source", "1:vectors", "--target", "2:label", *SMALL)
    result = seqloom("train", data, "--run", tmp_path / "run", *chosen)
    assert result.sentence == (
        f"{data}:21: source: step 2 has one number where step 1 has 2 numbers; give every step as "
        "many numbers, or pass --skip-bad"
    )
    table = rows(tmp_path / "table.csv", "time,x,y,event", *["1,2,3,up"] * 20, "2,3,up")
    chosen = ("--source", "x,y:vectors", "--target", "event:label", "--set", "data.window=5")
    result = seqloom("train", table, "--run", tmp_path / "run", *chosen, *SMALL)
    assert result.sentence.startswith(f"{table}:22: expected 4 columns, found 3")


def test_a_ctc_target_that_is_longer_than_its_input(seqloom: Command, tmp_path: Path) -> None:
    data = rows(tmp_path / "rows.tsv", *["[1, 2, 3, 4]\tab"] * 20, "[1, 2]\tabc")
    ctc = ("--set", "model.decoder.kind=ctc", "--set", "target.unit=character")
    chosen = ("--source", "1:vectors", *ctc, *SMALL)
    result = seqloom("train", data, "--run", tmp_path / "run", *chosen)
    assert result.code != 0
    assert result.sentence.startswith(
        f"{data}:21: the target has 3 symbols and the source only 2 steps to align them with; cut"
    )
