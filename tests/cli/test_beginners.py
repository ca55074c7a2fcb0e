"""What people do first with a file of their own: no traceback, no silent guess, no riddle."""

import json
from pathlib import Path

import pytest

import seqloom
from seqloom.errors import ConfigError, DataError
from tests.cli.support import Command
from tests.cli.tables import labelled, table
from tests.runs.support import Listening

QUICK = [
    *("--set=training.workers=1", "--set=training.updates=2", "--set=training.validate_every=2"),
    *("--set=model.embedding=8", "--set=model.encoder.width=8", "--set=training.curves=false"),
]


def test_training_tells_what_should_be_looked_at(command: Command, tmp_path: Path) -> None:
    """Five rows, of which one is held out, make 100 % of nothing."""
    data = table(tmp_path / "five.tsv", labelled(5))
    told = command("train", data, "--target", "2:label", "--run", tmp_path / "run", *QUICK)
    assert told.code == 0, told.err
    assert "look at this: 5 rows are too few to learn from" in told.err


def test_labels_as_texts_are_doubted(tmp_path: Path) -> None:
    """`train(X, y)` without a kind writes the labels letter by letter."""
    texts, labels = zip(*((str(a), str(b)) for a, b in labelled(600)), strict=True)
    training = {"workers": 1, "updates": 1, "validate_every": 1, "curves": False}
    small = {"encoder": {"layers": 1}, "decoder": {"layers": 1}}
    watch = Listening()
    options = {"training": training, "model": small}
    seqloom.train(texts, labels, run=tmp_path / "run", options=options, watch=watch)
    told = "; write the option target.kind=label if they are labels"
    assert any(each.endswith(told) for each in watch.heard)
    with pytest.raises(ConfigError, match="target=':label' if you mean the kind"):
        seqloom.train(texts, labels, run=tmp_path / "other", target="label", options=options)


def test_other_encodings_have_their_remedy(command: Command, tmp_path: Path) -> None:
    data = tmp_path / "latin.csv"
    data.write_bytes("".join(f"café {n},x\n" for n in range(60)).encode("latin-1"))
    told = command("check", data, "--target", "2:label")
    assert told.code == 3
    assert told.sentence.endswith("save it as UTF-8, for example with iconv -f LATIN1 -t UTF-8")


def test_a_json_list_in_one_piece_has_its_remedy(command: Command, tmp_path: Path) -> None:
    data = tmp_path / "list.json"
    data.write_text(json.dumps([{"text": "a", "label": "b"}] * 3))
    told = command("check", data, "--source", "text", "--target", "label:label")
    assert told.code == 3
    assert told.sentence.endswith("write one object a line, for example with jq -c '.[]'")


def test_empty_values_are_not_to_be_quoted() -> None:
    with pytest.raises(DataError, match="holds null, .*; fill it in, or remove the row"):
        seqloom.train(
            [{"text": "a", "label": None}], run="nowhere", source="text", target="label:label"
        )


def test_a_run_can_be_evaluated_by_its_directory(command: Command, tmp_path: Path) -> None:
    data, run = table(tmp_path / "d.tsv", labelled(60)), tmp_path / "run"
    assert command("train", data, "--target", "2:label", "--run", run, *QUICK).code == 0
    by_path, by_model = seqloom.evaluate(run, data), seqloom.evaluate(seqloom.load(run), data)
    assert by_path.as_dict() == by_model.as_dict()


def test_dropped_rows_are_counted_once(command: Command, tmp_path: Path) -> None:
    """Training rows and held-out rows come from one file, whose counts are of all its rows."""
    data = table(tmp_path / "d.tsv", [*labelled(60), ("alone",), ("", "a")])
    asked = ["--target", "2:label", "--run", tmp_path / "run", "--skip-bad"]
    told = command("train", data, *asked, *QUICK)
    assert told.code == 0, told.err
    assert told.err.count("rows dropped: 2\n") == 1


def test_numbers_of_a_spreadsheet_are_named(command: Command, tmp_path: Path) -> None:
    """Decimal commas: the file, the column and a cell, with what to write."""
    rows = [(text, f"1.{number:03d},50") for number, (text, _) in enumerate(labelled(60))]
    data = table(tmp_path / "d.csv", [("Text", "Miete"), *rows], ";")
    told = command("train", data, "--target", "Miete:number", "--run", tmp_path / "run", *QUICK)
    assert told.code == 3
    problem = "the first cell is '1.000,50', and there is no cell of one number"
    assert told.sentence.startswith(f"{data}: column 'Miete': {problem}; write")
    assert not (tmp_path / "run" / "config.toml").exists()


def test_the_header_of_a_table_is_no_input(command: Command, tmp_path: Path) -> None:
    """The run read its source by position and its target by name, so the table has a header."""
    data, run = table(tmp_path / "d.tsv", [("name", "language"), *labelled(60)]), tmp_path / "run"
    asked = ["--source", "1", "--target", "language:label", "--run", run]
    assert command("train", data, *asked, *QUICK).code == 0
    assert len(command("predict", run, data).out.splitlines()) == 60
    sources = table(tmp_path / "sources.tsv", [(text,) for text, _ in labelled(7)])
    assert len(command("predict", run, sources).out.splitlines()) == 7
