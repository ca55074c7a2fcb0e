"""`seqloom look` and `seqloom report`, as a shell would run them, on tiny runs."""

import json
from pathlib import Path

import pytest

from tests.cli.support import Command
from tests.run.finished import make_run


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), "lstm")


def test_attention_in_the_terminal(command: Command, transformer: Path) -> None:
    """Source across, output down; the legend last."""
    lines = command("look", transformer, "aei").out.splitlines()
    assert lines[0].split() == ["a", "e", "i", "<end>"]
    assert lines[-1].startswith("weight")


def test_every_kind_of_file_is_written(command: Command, transformer: Path, tmp_path: Path) -> None:
    """PNG, SVG, HTML and JSON, each told by its name."""
    for ending, beginning in {
        "png": b"\x89PNG",
        "svg": b"<?xml",
        "html": b"<!DOCTYPE html>",
        "json": b"{",
    }.items():
        path = tmp_path / f"map.{ending}"
        assert command("look", transformer, "aei", "--to", path).out == f"{path}\n"
        assert path.read_bytes().startswith(beginning)
    weights = json.loads((tmp_path / "map.json").read_text())["weights"]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in weights)


def test_alignments_and_their_error_rate(command: Command, lstm: Path, tmp_path: Path) -> None:
    """Links on standard output, the rate on standard error."""
    (tmp_path / "pairs.tsv").write_text("aei\tiea\nbfj\tjfb\n")
    (tmp_path / "gold").write_text("0-0\n0-0\n")
    result = command(
        "look", lstm, "--show", "alignment", "--file", tmp_path / "pairs.tsv",
        "--gold", tmp_path / "gold",
    )  # fmt: skip
    assert result.code == 0
    assert len(result.out.splitlines()) == 2
    assert result.err.startswith("alignment error rate ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["aei", "--show", "nothing"], "--show nothing: choose attention"),
        ([], "this shows one input, and 0 are given"),
        (["a", "e"], "this shows one input, and 2 are given"),
        ([""], "nothing to look at in a blank input"),
        (["aei", "--layer", "7"], "there is no layer 7"),
        (["aei", "--head", "9"], "has 2 heads and no head 9"),
        (["aei", "--of", "elsewhere"], "choose cross, encoder, decoder"),
        (["aei", "--to", "map.gif"], "map.gif: end its name in .png, .svg, .html or .json"),
    ],
)
def test_what_cannot_be_seen_is_said(
    command: Command, transformer: Path, arguments: list[str], sentence: str
) -> None:
    """One sentence with the cure, and exit code 2 or 3."""
    result = command("look", transformer, *arguments)
    assert result.code in (2, 3)
    assert sentence in result.sentence


def test_what_a_model_does_not_have_is_said(command: Command, lstm: Path) -> None:
    assert "no self-attention in the encoder: look at cross" in (
        command("look", lstm, "aei", "--of", "encoder").sentence
    )
