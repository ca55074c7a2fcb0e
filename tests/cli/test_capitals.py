"""Input in capitals is read as what was learnt, and what the model does not know is told."""

import json
from pathlib import Path

import pytest

import seqloom
from tests.cli.support import Command

QUICK = ["--set", "training.updates=4", "--set", "training.validate_every=2"]
CITIES = ("boston", "denver", "dallas", "austin")
FLIGHTS = "".join(
    f"show me flights from {a} to {b}\tO O O O C O C\n" for a in CITIES for b in CITIES if a != b
)


def write(place: Path, text: str) -> Path:
    place.write_text(text)
    return place


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of tags that has seen small letters alone."""
    folder = tmp_path_factory.mktemp("flights")
    data = write(folder / "flights.tsv", FLIGHTS)
    options = {
        "source": {"unit": "symbol"},
        "target": {"kind": "tags"},
        "training": {"updates": 4, "validate_every": 2},
    }
    seqloom.train(data, folder / "run", options=options)
    return folder / "run"


def test_capitals_are_small_letters_to_a_model_that_learnt_none(
    command: Command, flights: Path, tmp_path: Path
) -> None:
    small, large = "show me flights from boston to denver", "SHOW ME Flights FROM BOSTON TO DENVER"
    result = command("predict", flights, "--json", stdin=f"{small}\n{large}\n".encode())
    assert result.code == 0, result.err
    first, second = map(json.loads, result.out.splitlines())
    assert first == second
    assert "<unk>" not in second["source"]
    tags = "O O O O C O C"
    rows = write(tmp_path / "rows.tsv", f"{small}\t{tags}\n{large}\t{tags}\n")
    scored = command("score", flights, rows)
    scores = [json.loads(line)["score"] for line in scored.out.splitlines()]
    assert scores[0] == scores[1], scored.err
    told = command("describe", flights)
    assert "capitals read as small letters (the training data has none)" in told.out


def test_capitals_are_kept_where_some_were_learnt_and_in_targets(
    command: Command, tmp_path: Path
) -> None:
    cased = write(tmp_path / "cased.tsv", "".join(f"Ab{n}\tcd{n}\n" for n in range(20)))
    trained = command("train", cased, "--run", tmp_path / "cased", *QUICK)
    assert trained.code == 0, trained.err
    assert "small letters" not in command("describe", tmp_path / "cased").out
    target = seqloom.load(tmp_path / "cased").target
    assert target.tokens(target.rows(["CD"])[0])[:2] == ["<unk>", "<unk>"]
