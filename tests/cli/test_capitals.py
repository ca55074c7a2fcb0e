"""Input in capitals is read as what was learnt, and what the model does not know is told."""

import json
from itertools import product
from pathlib import Path

import pytest

import seqloom
from seqloom.config.columns import TextConfig
from seqloom.data import Corpus, Recasing
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


def test_targets_keep_their_capitals_where_both_sides_share_a_vocabulary(
    command: Command, tmp_path: Path
) -> None:
    """A reference in capitals is not what a model of small letters writes, so it is wrong."""
    words = ["".join(letters) for letters in product("ab", repeat=5)]
    rows = write(tmp_path / "rows.tsv", "".join(f"{word}\t{word}\n" for word in words))
    shared = ("--set", "model.share_vocabulary=true")
    trained = command("train", rows, "--run", tmp_path / "run", *QUICK, *shared)
    assert trained.code == 0, trained.err
    target = seqloom.load(tmp_path / "run").target
    assert target.tokens(target.rows(["AB"])[0])[:2] == ["<unk>", "<unk>"]
    test = write(tmp_path / "test.tsv", "ab\tAB\nAB\tab\n")
    scored = command("score", tmp_path / "run", test)
    capital, small = (json.loads(line) for line in scored.out.splitlines())
    assert capital["score"] != small["score"]
    again = command("train", rows, "--run", tmp_path / "run", *QUICK, *shared)
    assert again.code == 0, again.err
    grown = ("--from", tmp_path / "run", "--set", "training.extend_vocabulary=true")
    other = write(tmp_path / "new.tsv", "".join(f"{word}c\tc{word}\n" for word in words))
    tuned = command("train", other, "--run", tmp_path / "tuned", *QUICK, *grown)
    assert tuned.code == 0, tuned.err
    read, written = seqloom.load(tmp_path / "tuned").source, seqloom.load(tmp_path / "tuned").target
    assert written.tokens(written.rows(["cC"])[0])[:2] == ["c", "<unk>"]
    assert read.tokens(read.rows(["cC"])[0])[:2] == ["c", "c"]


CASED = "".join(
    f"Please tell Mary{n % 5} that Anna sees the blue house in Rome today\t{'AB'[n % 2]}\n"
    for n in range(60)
)


def test_sentences_are_learnt_in_other_cases_too(command: Command, tmp_path: Path) -> None:
    data = write(tmp_path / "cased.tsv", CASED)
    asked = ("train", data, "--target", "2:label", "--run", tmp_path / "run")
    first = command(*asked, *QUICK, "--set", "source.unit=word")
    assert first.code == 0, first.err
    config = (tmp_path / "run/config.toml").read_text()
    assert "recased = 0.2" in config
    assert "any_case = true" in config
    rows = Corpus.open(tmp_path / "run/cache/train")
    lines = [rows.place(index).line for index in range(len(rows))]
    assert len(lines) > len(set(lines)) > 40, "some rows are there twice"
    told = command("predict", tmp_path / "run", "--json", stdin=b"ANNA SEES ROME\n")
    assert json.loads(told.out)["source"] == ["Anna", "sees", "Rome", "<end>"]


def test_a_row_in_another_case_is_a_function_of_seed_and_text() -> None:
    """Capitals go over to a target of subwords that has some; tags and other targets stay."""
    text, words = TextConfig(unit="subword"), TextConfig(unit="word")
    rows = [(f"Anna sees number {n}", f"Anna voit le {n}") for n in range(2_000)]
    drawn = list(Recasing(text, text, 0.2, 1).copies(rows))
    assert drawn == list(Recasing(text, text, 0.2, 1).copies(rows))
    assert drawn != list(Recasing(text, text, 0.2, 2).copies(rows))
    assert 320 < len(drawn) < 480
    capitals = [(source, target) for source, target in drawn if source.isupper()]
    assert 150 < len(capitals) < 250
    assert all(target.isupper() for _, target in capitals)
    others = [target for source, target in drawn if not source.isupper()]
    assert all(target.startswith("Anna voit") for target in others)
    kept = Recasing(text, words, 0.2, 1).copies(rows)
    assert all(target.startswith("Anna voit") for _, target in kept)
    assert not list(Recasing(text, text, 0.0, 1).copies(rows))


def test_input_that_is_unknown_or_too_long_is_told(
    command: Command, flights: Path, tmp_path: Path
) -> None:
    known = "show me flights from boston to denver"
    lines = [
        known,
        "\u043f\u043e\u043a\u0430\u0436\u0438 \u043c\u043d\u0435 flights from boston to denver",
        f"{known} {known}",
    ]
    stdin = "".join(f"{line}\n" for line in lines).encode()
    unknown = "1 of 3 inputs: more than a fifth of the input is unknown to the model"
    long = "1 of 3 inputs: longer than anything the model has learnt from"
    result = command("predict", flights, "--json", stdin=stdin)
    found = [json.loads(line) for line in result.out.splitlines()]
    assert "warnings" not in found[0]
    assert found[1]["warnings"] == [{"kind": "unknown_input", "value": round(2 / 7, 4)}]
    assert found[2]["warnings"] == [{"kind": "long_input", "value": 14}]
    assert result.err.count(unknown) == result.err.count(long) == 1
    tags = ["O O O O C O C", "O O O O C O C", "O O O O C O C O O O O C O C"]
    rows = zip(lines, tags, strict=True)
    test = write(tmp_path / "test.tsv", "".join(f"{line}\t{tag}\n" for line, tag in rows))
    evaluated = command("evaluate", flights, test, "--json")
    assert evaluated.err.count(unknown) == evaluated.err.count(long) == 1
    assert json.loads(evaluated.out)["warnings"] == {"unknown_input": 1, "long_input": 1}
    output = seqloom.load(flights).predict(lines)[1]
    assert type(output).from_dict(output.as_dict()) == output


def test_long_input_is_told_where_the_source_has_several_columns(
    command: Command, tmp_path: Path
) -> None:
    features = ("V;PST", "V;PRS;3;SG")
    lemmas = ("walk", "talk", "jump", "look", "kick", "hop", "rest", "ask")
    rows = "".join(f"{lemma}\t{each}\t{lemma}s\n" for lemma in lemmas for each in features)
    data = write(tmp_path / "rows.tsv", rows)
    asked = ("train", data, "--source", "1,2", "--target", "3", "--run", tmp_path / "run")
    units = ("--set", "source.units=character,feature")
    trained = command(*asked, *QUICK, *units)
    assert trained.code == 0, trained.err
    lines = f"walk\tV;PST\n{'walk' * 5}\tV;PRS;3;SG\n".encode()
    result = command("predict", tmp_path / "run", "--json", stdin=lines)
    first, second = map(json.loads, result.out.splitlines())
    assert "warnings" not in first
    assert second["warnings"] == [{"kind": "long_input", "value": 25}]
    assert "1 of 2 inputs: longer than anything the model has learnt from" in result.err


def test_unknown_words_are_copied_from_the_source(command: Command, tmp_path: Path) -> None:
    """Numbers and names that come once are unknown on both sides; the model learns to copy."""
    fruit = {"apples": "pommes", "pears": "poires", "plums": "prunes", "nuts": "noix"}
    pairs = [(f"{n} {a}", f"{n} {b}") for n in range(100, 180) for a, b in fruit.items()]
    options = {
        "source": {"unit": "word", "min_count": 5},
        "target": {"unit": "word", "min_count": 5},
        "training": {"updates": 60, "validate_every": 30, "rate": 2e-2, "average": "none"},
        "model": {"embedding": 16, "encoder": {"width": 16}, "decoder": {"width": 16}},
        "search": {"copy_unknown": True},
    }
    seqloom.train(pairs, tmp_path / "run", model="lstm", options=options)
    told = command("predict", tmp_path / "run", "--json", stdin=b"37 apples\n")
    found = json.loads(told.out)
    assert found["text"] == "37 pommes", found
    assert found["tokens"][0]["copied"] is True
    off = ("--set", "search.copy_unknown=false")
    assert "37" not in command("predict", tmp_path / "run", *off, stdin=b"37 apples\n").out


def test_copying_is_chosen_where_it_helps(command: Command, tmp_path: Path) -> None:
    """Numbers that come once are unknown on both sides, and held-out rows are better with them."""
    fruit = {"apples": "pommes", "pears": "poires", "plums": "prunes", "nuts": "noix"}
    numbers = iter(range(100, 1_000))
    rows = [
        f"I buy {next(numbers)} {a}\tj'achète {{}} {b}" for _ in range(60) for a, b in fruit.items()
    ]
    text = "".join(f"{row.format(row.split()[2])}\n" for row in rows)
    data = write(tmp_path / "rows.tsv", text)
    small = [
        *("source.unit=word", "target.unit=word", "training.updates=60"),
        *("training.validate_every=30", "training.rate=2e-2", "training.average=none"),
        *("model.embedding=16", "model.encoder.width=16", "model.decoder.width=16"),
        *("training.workers=1", "training.curves=false"),
    ]
    sets = [word for each in small for word in ("--set", each)]
    for name, options in (("auto", ()), ("known", ("--set", "target.min_count=1"))):
        run = tmp_path / name
        assert command("train", data, "--model", "lstm", "--run", run, *sets, *options).code == 0
    told = command("predict", tmp_path / "auto", "--json", stdin=b"I buy 37 apples\n")
    found = json.loads(told.out)
    assert "37 pommes" in found["text"], found
    assert [token["copied"] for token in found["tokens"] if token["text"] == "37"] == [True]
    config = (tmp_path / "auto" / "config.toml").read_text()
    assert config.count("min_count = 2") == 2
    assert 'copy_unknown = "auto"' in config
    plain = command("predict", tmp_path / "known", "--json", stdin=b"I buy 37 apples\n")
    assert not any(token.get("copied") for token in json.loads(plain.out)["tokens"])
