"""`seqloom export` from outside: what it writes and says, and what it refuses."""

from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.runs.finished import make_run

pytest.importorskip("ctranslate2", reason="needs ctranslate2; pip install 'seqloom[export]'")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


def test_a_run_is_written_and_compared(command: Command, run: Path, tmp_path: Path) -> None:
    """On held-out rows, or on the lines of a file; what is already there is left alone."""
    first = command("export", run, "--to", "ctranslate2", "--output", tmp_path / "one")
    assert first.code == 0
    assert "outputs are the same" in first.out
    inputs = tmp_path / "inputs.txt"
    inputs.write_text("ab\n\nba\n", encoding="utf-8")
    arguments = ("--to", "ctranslate2", "--output", tmp_path / "two", "--check", inputs)
    second = command("export", run, *arguments)
    assert second.code == 0
    assert " of 2 outputs are the same" in second.out
    third = command("export", run, *arguments)
    assert (third.code, "already there" in third.sentence) == (2, True)


def test_what_cannot_be_exported(command: Command, run: Path, tmp_path: Path) -> None:
    """Another runtime is a wrong option, an empty file wrong data; nothing is written."""
    other = command("export", run, "--to", "paper", "--output", tmp_path / "out")
    assert other.code == 2
    assert other.sentence.startswith(
        "no runtime is called 'paper'; choose one of ctranslate2, hugg"
    )
    (tmp_path / "empty").touch()
    arguments = ("--to", "ctranslate2", "--output", tmp_path / "out", "--check", tmp_path / "empty")
    assert command("export", run, *arguments).code == 3
    assert not (tmp_path / "out").exists()


def test_a_recurrent_run_is_refused(command: Command, tmp_path: Path) -> None:
    """One sentence and exit code 2."""
    lstm = make_run(tmp_path, "lstm")
    refused = command("export", lstm, "--to", "ctranslate2", "--output", tmp_path / "out")
    assert refused.code == 2
    assert refused.sentence.startswith("ctranslate2 takes Transformers")
