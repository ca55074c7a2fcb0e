"""`seqloom look` and `seqloom report`, as a shell would run them, on tiny runs."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from seqloom.api.report import write_report
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.fields import Values
from seqloom.prediction import Output, TextPredictor
from tests.cli.support import Command
from tests.explain.browser import browser, complaints
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, options


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


def test_a_model_without_attention_shows_what_mattered(command: Command, tmp_path: Path) -> None:
    """Unless attention was asked for, and then it is said that there is none."""
    blind = merge(
        options("lstm", updates=1), {"model": {"decoder": {"attention": {"kind": "none"}}}}
    )
    train(PAIRS, tmp_path / "run", options=blind)
    assert "integrated gradients" in command("look", tmp_path / "run", "aei").out
    assert (
        "no attention" in command("look", tmp_path / "run", "aei", "--show", "attention").sentence
    )


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
    "arguments",
    [
        ["aei", "--each", "--of", "encoder"],
        ["aei", "--threads"],
        ["aei", "--show", "gradients"],
        ["aei", "bfj", "--show", "flow"],
        ["aei", "bfj", "cgk", "--show", "states", "--of", "mean"],
        ["--show", "positions"],
        ["aei", "--show", "tree", "--beam", "2"],
        ["aei", "--show", "steps", "--output", "iea"],
        ["--show", "net"],
        ["aei", "--show", "net"],
    ],
    ids=" ".join,
)
def test_every_look_says_something(
    command: Command, transformer: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """In the terminal and as numbers."""
    result = command("look", transformer, *arguments)
    assert (result.code, result.err) == (0, "")
    assert len(result.out) > 40
    command("look", transformer, *arguments, "--to", tmp_path / "look.json")
    assert json.loads((tmp_path / "look.json").read_text())


def test_a_report_is_one_page(command: Command, lstm: Path, tmp_path: Path) -> None:
    """All that is known of a run is in it, and nothing from elsewhere."""
    result = command("report", lstm)
    page = (lstm / "report.html").read_text(encoding="utf-8")
    assert result.out.splitlines()[-1] == str(lstm / "report.html")
    for heading in (
        "Data and run", "Model", "Learning curves", "Held-out results", "Best examples",
        "Worst examples", "Length against quality", "Attention of three examples",
        "How to repeat it",
    ):  # fmt: skip
        assert f"<h2>{heading}</h2>" in page
    assert "95 % interval" in page
    assert page.count("<figure ") == 5
    addresses = set(re.findall(r"""(?:href|src)=["']([^"']+)""", page))
    assert {each for each in addresses if not each.startswith(("#", "data:image/png"))} == set()
    (tmp_path / "test.tsv").write_text("aei\tiea\n")
    other = command("report", lstm, "--data", tmp_path / "test.tsv", "--to", tmp_path / "r.html")
    assert other.code == 0
    assert command("report", lstm, "--to", tmp_path / "r.pdf").code == 2


def test_a_report_opens_in_a_browser(lstm: Path, tmp_path: Path) -> None:
    """Without an error in its console, and with pictures that have a size."""
    write_report(lstm, tmp_path / "report.html")
    with browser() as opened:
        opened.get((tmp_path / "report.html").as_uri())
        assert "a report" in opened.title
        sizes = [each.size for each in opened.find_elements(By.TAG_NAME, "svg")]
        assert len(sizes) == 5
        assert all(size["width"] > 100 and size["height"] > 50 for size in sizes)
        assert complaints(opened) == []


def test_an_output_is_searched_for_once(
    command: Command, transformer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a look, and for a report: all its rows together, then each of the three it shows."""
    searches, original = [], TextPredictor.predict_rows

    def counted(model: TextPredictor, rows: Sequence[Values], **named: Any) -> list[Output]:
        searches.append(len(rows))
        return original(model, rows, **named)

    monkeypatch.setattr(TextPredictor, "predict_rows", counted)
    command("look", transformer, "aei")
    assert searches == [1]
    command("report", transformer, "--to", tmp_path / "report.html")
    assert searches[2:] == [1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["aei", "--show", "nothing"], "--show nothing: there is no such view; choose attention"),
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
    assert "no self-attention in the encoder; look at cross" in (
        command("look", lstm, "aei", "--of", "encoder").sentence
    )
