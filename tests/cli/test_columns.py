"""A lemma and its features as one source: every command reads the columns that training read."""

import json
from pathlib import Path

import pytest

import seqloom
from seqloom.errors import DataError
from tests.cli.support import Command

ENDINGS = {"V;PST;SG": "de", "V;PST;PL": "den", "V;PRS;SG": "t", "V;PRS;PL": "en"}
STEMS = [f"{a}{b}{c}" for a in "klmrst" for b in "aeo" for c in "fgnp"]
ROWS = [(stem, marks, stem + end) for stem in STEMS for marks, end in ENDINGS.items()]
HEADER = ("lemma", "features", "form")
SMALL = [
    "model.embedding=16",
    "training.updates=3",
    "training.validate_every=3",
    "training.workers=1",
]
SIZES = ["model.encoder.width=16", "model.encoder.layers=1", "model.decoder.width=16"]


def write(place: Path, rows: list[tuple[str, ...]]) -> Path:
    place.write_text("".join("\t".join(row) + "\n" for row in rows))
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columns")


@pytest.fixture
def run(command: Command, folder: Path) -> Path:
    """A run on the columns by name, trained once."""
    data = write(folder / "train.tsv", [HEADER, *ROWS])
    sets = [word for each in [*SMALL, *SIZES] for word in ("--set", each)]
    asked = ("train", data, "--source", "lemma,features", "--target", "form", "--model", "lstm")
    if not (folder / "run").exists():
        result = command(*asked, "--run", folder / "run", *sets)
        assert result.code == 0, result.err
        (folder / "told").write_text(result.out + result.err)
    return folder / "run"


def test_training_ends_with_the_command_that_reads_columns(run: Path) -> None:
    told = (run.parent / "told").read_text()
    assert "chat" not in told
    assert rf"printf 'your lemma\tyour features\n' | seqloom predict {run}" in told
    config = (run / "config.toml").read_text()
    assert 'units = [\n    "character",\n    "feature",\n]' in config


def test_every_form_of_the_same_inputs_has_the_same_outputs(command: Command, run: Path) -> None:
    some = ROWS[::37]
    objects = [dict(zip(HEADER, row, strict=True)) for row in some]
    table = write(run.parent / "some.tsv", [HEADER, *some])
    swapped = write(run.parent / "swapped.tsv", [HEADER[::-1], *(row[::-1] for row in some)])
    lines = run.parent / "some.jsonl"
    lines.write_text("".join(json.dumps({"id": 1, **each}) + "\n" for each in objects))
    expected = command("predict", run, table).out
    assert expected.count("\n") == len(some)
    assert command("predict", run, swapped).out == expected
    assert command("predict", run, lines).out == expected
    alone = "".join(f"{lemma}\t{marks}\n" for lemma, marks, _ in some)
    assert command("predict", run, stdin=alone.encode()).out == expected

    model = seqloom.load(run)
    texts = expected.splitlines()
    pairs = [(lemma, marks) for lemma, marks, _ in some]
    for inputs in (pairs, objects, alone.splitlines(), [list(pair) for pair in pairs], table):
        assert [output.text for output in model.predict(inputs)] == texts
    import pyarrow  # type: ignore[import-untyped]

    assert [each.text for each in model.predict(pyarrow.Table.from_pylist(objects))] == texts
    assert model(objects[0]).text == texts[0]


def test_what_cannot_be_told_apart_is_refused(command: Command, run: Path) -> None:
    bare = command("predict", run, stdin=b"kafen\n")
    assert (bare.code, bare.sentence) == (
        3,
        "standard input:1: has 1 column, and the run reads columns lemma,features; give 2 with "
        "tabs between them, or pass --skip-bad",
    )
    model = seqloom.load(run)
    for given in ("kafen", ("kafen",), ("a", "b", "c"), {"lemma": "kafen"}, ["kafen"]):
        with pytest.raises(DataError):
            model(given)
    units = ("--set", "source.units=character")
    wrong = command("train", run.parent / "train.tsv", "--source", "1,2", "--run", "x", *units)
    assert wrong.code == 2
    assert "source.units names 1 units, and the source has 2 columns (1, 2)" in wrong.sentence


def test_look_shows_the_tokens_of_each_column(command: Command, run: Path) -> None:
    lemma, marks, form = ROWS[5]
    asked = ("look", run, "--show", "attention", "--to")
    typed = command(*asked, run.parent / "typed.json", f"{lemma}\t{marks}", "--output", form)
    assert typed.code == 0, typed.err
    table = write(run.parent / "one.tsv", [HEADER, ROWS[5]])
    read = command(*asked, run.parent / "read.json", "--file", table)
    assert read.code == 0, read.err
    one, other = ((run.parent / f"{name}.json").read_text() for name in ("typed", "read"))
    assert json.loads(one) == json.loads(other), "the table's target is the output"
    assert "<column 2>" in one
    assert '"PST"' in one


def test_score_and_evaluate_read_the_columns(command: Command, run: Path) -> None:
    table = write(run.parent / "pairs.tsv", [HEADER, *ROWS[:5]])
    lines = [json.loads(line) for line in command("score", run, table).out.splitlines()]
    scored = seqloom.load(run).score([((lemma, marks), form) for lemma, marks, form in ROWS[:5]])
    assert [each["score"] for each in lines] == pytest.approx(
        [each.log_probability for each in scored], abs=1e-4
    )
    assert command("evaluate", run, table).out.splitlines()[0] == "5 rows"
