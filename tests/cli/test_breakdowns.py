"""What stands behind the scores: by class, by confidence, by step; on screen, as JSON, drawn."""

import json
from pathlib import Path

import pytest
from sklearn.metrics import confusion_matrix  # type: ignore[import-untyped]

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.runs.contents import best_step
from seqloom.store import RunDirectory
from tests.cli.class_rows import labelled, tagged, write
from tests.cli.support import Command
from tests.runs.support import history

TINY = {"embedding": 8, "encoder": {"width": 8, "layers": 1}}
SHORT = {"workers": 1, "curves": False, "average": "none", "samples": 0}
SHORT |= {"updates": 40, "validate_every": 10, "batch_tokens": 256, "rate": 2e-2, "warmup": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that labels and one that tags, with a test set for each."""
    folder = tmp_path_factory.mktemp("breakdowns")
    for kind, made in (("label", labelled), ("tags", tagged)):
        chosen = {"target": kind, "model": TINY, "training": SHORT}
        train(made(150, seed=1), folder / kind, valid=made(40, seed=2), options=chosen)
        write(folder / f"{kind}.tsv", made(60, seed=3))
    return folder


def test_labels_are_told_one_by_one(folder: Path, command: Command, tmp_path: Path) -> None:
    """Below the scores and baselines: a line for each label, the confusions, the calibration."""
    data = folder / "label.tsv"
    told = command("evaluate", folder / "label", data, "--pictures", tmp_path / "pictures")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[1].startswith("accuracy ")
    assert "calibration error" in told.out
    heading = next(number for number, line in enumerate(lines) if line.startswith("label  "))
    assert lines[heading].split() == ["label", "precision", "recall", "F1", "support"]
    assert {line.split()[0] for line in lines[heading + 1 : heading + 4]} == set("abc")
    assert "rows: references, columns: outputs" in lines
    assert "expected calibration error" in told.out
    for name in ("confusion", "calibration"):
        assert (tmp_path / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert str(tmp_path / "pictures" / f"{name}.png") in lines


def test_json_has_the_same_as_an_outside_reference(folder: Path, command: Command) -> None:
    rows = labelled(60, seed=3)
    found = json.loads(command("evaluate", folder / "label", folder / "label.tsv", "--json").out)
    outputs = [each.text for each in load(folder / "label").predict([word for word, _ in rows])]
    names = found["confusion"]["labels"]
    wanted = confusion_matrix([label for _, label in rows], outputs, labels=names)
    assert found["confusion"]["counts"] == wanted.tolist()
    assert {each["name"] for each in found["labels"]["classes"]} == set(names)
    error = next(each for each in found["scores"] if each["name"] == "calibration error")
    assert 100 * found["calibration"]["expected_calibration_error"] == pytest.approx(error["value"])


def test_spans_lead_where_tags_mark_them(folder: Path, command: Command) -> None:
    """They come first in the evaluation, and the best checkpoint is chosen by them."""
    told = command("evaluate", folder / "tags", folder / "tags.tsv").out.splitlines()
    assert told[1].startswith("span F1 ")
    place = told.index("spans by type")
    assert {line.split()[0] for line in told[place + 2 : place + 4]} == {"COL", "LOC"}
    assert "tags one by one" in told
    found = json.loads(command("evaluate", folder / "tags", folder / "tags.tsv", "--json").out)
    assert [each["name"] for each in found["spans"]["classes"]]
    assert found["scores"][0]["value"] == pytest.approx(found["spans"]["micro"]["f1"])
    for validation in history(folder / "tags"):
        assert next(iter(validation["scores"])) == "span F1"
        assert validation["metric"] == validation["scores"]["span F1"]
    best = max(history(folder / "tags"), key=lambda each: (each["metric"], -each["loss"]))
    assert best_step(RunDirectory(folder / "tags")).number == best["step"]


def test_the_report_shows_them_too(folder: Path, command: Command, tmp_path: Path) -> None:
    for kind, headings in (
        ("label", ("Labels one by one", "Confusion matrix", "Calibration")),
        ("tags", ("Spans by type", "Tags one by one", "Confusion matrix", "Calibration")),
    ):
        page = tmp_path / f"{kind}.html"
        assert command("report", folder / kind, "--to", page).code == 0
        text = page.read_text()
        for heading in headings:
            assert f"<h2>{heading}</h2>" in text
        assert "expected calibration error" in text
        assert "share of the reference's label" in text


def test_pictures_of_what_has_none_are_refused(command: Command, tmp_path: Path) -> None:
    data = write(tmp_path / "pairs.tsv", [("ab", "ba"), ("cd", "dc"), ("ef", "fe")] * 4)
    short = [f"--set=training.{name}={value}" for name, value in SHORT.items()]
    small = ["--set", "training.updates=1", "--valid", data]
    assert command("train", data, "--run", tmp_path / "r", *short, *small).code == 0
    told = command("evaluate", tmp_path / "r", data, "--pictures", tmp_path / "p")
    assert told.code == 2
    assert told.sentence.startswith("--pictures")
