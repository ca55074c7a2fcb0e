"""Labels and tags that training did not have are kept in held-out and test data as errors."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.support import Command

QUICK = ["--set", "training.updates=2", "--set", "training.validate_every=1"]
TRAIN = "".join(f"word{n % 7} flat\t{'even' if n % 2 else 'odd'}\n" for n in range(40))
TEST = "word1 flat\teven\nword2 flat\tprime\nword3 flat\tprime\nword4 flat\todd\n"
TAGGED = "".join(f"the cat{n % 5} sat\tD N V\n" for n in range(40))
TAGGED_TEST = "the cat1 sat\tD N V\nthe cat2 sat\tX N X\n"
SENTENCE = (
    "1 label of the held-out rows is not in the training data, so 2 cases count as wrong: prime"
)


def write(place: Path, text: str) -> Path:
    place.write_text(text)
    return place


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("labels")
    return write(folder / "train.tsv", TRAIN), write(folder / "test.tsv", TEST)


def test_check_train_and_evaluate_name_an_unseen_label_in_the_same_words(
    command: Command, files: tuple[Path, Path], tmp_path: Path
) -> None:
    train, test = files
    asked = (train, "--valid", test, "--target", "2:label")
    checked = command("check", *asked)
    trained = command("train", *asked, "--run", tmp_path / "run", *QUICK)
    evaluated = command("evaluate", tmp_path / "run", test)
    for result in (checked, trained, evaluated):
        assert result.code == 0, result.err
        assert (result.out + result.err).count(SENTENCE) == 1
    assert evaluated.out.splitlines()[0] == "4 rows"
    found = json.loads(command("evaluate", tmp_path / "run", test, "--json").out)
    assert (found["rows"], found["unseen"]) == (4, {"prime": 2})
    accuracy = next(each for each in found["scores"] if each["name"] == "accuracy")
    assert accuracy["value"] <= 50, "two of four rows cannot be right"
    scored = command("score", tmp_path / "run", test)
    values = [json.loads(line)["score"] for line in scored.out.splitlines()]
    assert [value is None for value in values] == [False, True, True, False]


def test_unseen_tags_are_errors_at_their_tokens(command: Command, tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", TAGGED)
    test = write(tmp_path / "test.tsv", TAGGED_TEST)
    asked = (train, "--valid", test, "--target", "2:tags", "--run", tmp_path / "run")
    trained = command("train", *asked, *QUICK)
    assert trained.code == 0, trained.err
    found = json.loads(command("evaluate", tmp_path / "run", test, "--json").out)
    assert found["unseen"] == {"X": 2}
    accuracy = next(each for each in found["scores"] if each["name"] == "accuracy")
    assert accuracy["value"] <= 100 * 4 / 6
    assert command("report", tmp_path / "run").code == 0


def test_skip_bad_of_training_is_not_an_option_of_evaluate(
    command: Command, files: tuple[Path, Path], tmp_path: Path
) -> None:
    train = write(tmp_path / "train.tsv", TRAIN + "no tab\n")
    asked = (train, "--target", "2:label", "--skip-bad", "--run", tmp_path / "run")
    assert command("train", *asked, *QUICK).code == 0
    test = write(tmp_path / "test.tsv", TEST + "no tab\n")
    refused = command("evaluate", tmp_path / "run", test)
    assert refused.code == 3
    assert f"{test}:5: expected 2 columns, found 1" in refused.sentence
    told = command("evaluate", tmp_path / "run", test, "--skip-bad")
    first = told.out.splitlines()[0]
    assert first == f"4 rows; 1 not counted: 1 × wrong number of columns, first at {test}:5"


def test_a_suggestion_is_one_sentence(command: Command, tmp_path: Path) -> None:
    """A run that begins from another keeps its labels, so that new ones are refused in training."""
    train = write(tmp_path / "train.tsv", TRAIN)
    asked = ("--target", "2:label", *QUICK)
    assert command("train", train, "--run", tmp_path / "one", *asked).code == 0
    more = write(tmp_path / "more.tsv", TRAIN + "word9 flat\tevenn\n")
    refused = command("train", more, "--run", tmp_path / "two", "--from", tmp_path / "one", *QUICK)
    assert refused.code == 3
    assert "write 'even' if that is meant" in refused.sentence
    assert not re.search(r"\?,", refused.sentence)
