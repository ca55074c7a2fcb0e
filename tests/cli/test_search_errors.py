"""`seqloom evaluate --search-errors` and `seqloom demo search`, from outside."""

import json
from pathlib import Path

import pytest

from seqloom.api.evaluate import search_errors
from seqloom.api.load import load_text_predictor
from tests.cli.support import Command
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, write_pairs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


def test_search_errors_are_beside_the_scores(command: Command, run: Path, tmp_path: Path) -> None:
    """As JSON they are what Python gives; in words, a line for each width."""
    data = write_pairs(tmp_path / "pairs.tsv", PAIRS[::9])
    expected = search_errors(load_text_predictor(run), str(data), widest=2)
    found = json.loads(command("evaluate", run, data, "--search-errors", 2, "--json").out)
    assert found["search_errors"] == json.loads(json.dumps(expected.as_dict()))
    assert {score["name"] for score in found["scores"]} >= {"chrF", "perplexity"}
    words = command("evaluate", run, data, "--search-errors", 2).out
    assert words.endswith("\n" + "\n".join(expected.lines()) + "\n")


def test_a_beam_of_no_path_is_refused(command: Command, run: Path, tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "pairs.tsv")
    assert command("evaluate", run, data, "--search-errors", 0).code == 2


def test_the_demo_of_search(command: Command) -> None:
    """S10: greedy .10, a beam of 2 .32, and no training for it."""
    shown = command("demo", "search")
    assert shown.code == 0
    assert "he nose it" in shown.out
    assert "0.32 (proved)" in shown.out


def test_a_demo_that_is_not_there(command: Command) -> None:
    missing = command("demo", "fish")
    assert missing.code == 2
    assert "search" in missing.sentence
