"""S1.1, S1.2: what a task is follows from the kinds of its two columns, in every command."""

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.api.describe import check_data, describe
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load, load_text_predictor
from seqloom.api.report import report
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.errors import ConfigError, DataError
from seqloom.prediction import HeadPredictor, TextPredictor
from seqloom.runs.request import TrainingRequest
from tests.runs.support import assert_same, options, sitting
from tests.tasks.column_pairs import TASKS, TEXTS, Task, chosen


@pytest.fixture(scope="module", params=TASKS)
def learnt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    task = TASKS[request.param]
    run = tmp_path_factory.mktemp("run") / "run"
    long = chosen(task, updates=250, validate_every=250, rate=0.02, warmup=20, patience=0)
    train(task.rows, run, options=long, valid=task.rows[:9])
    return task, run


def test_each_pair_of_kinds_is_learnt(learnt: tuple[Task, Path]) -> None:
    """Trained, loaded, measured and described by the same four calls."""
    task, run = learnt
    model = load(run)
    assert isinstance(model, TextPredictor if task.target == "text" else HeadPredictor)
    scores = {score.name: score for score in evaluate(model, task.rows).scores}
    assert scores[task.main].value >= task.good
    assert ("perplexity" in scores) == (task.target != "number")
    words = "\n".join(describe(run).lines())
    assert f"source: {model.source.describe()}" in words
    assert task.main in words


def test_outputs_say_what_the_score_says(learnt: tuple[Task, Path]) -> None:
    """S7.4: the reported log-probability is that of the output; batch mates change nothing."""
    task, run = learnt
    model = load(run)
    sources = [r[0] if isinstance(r[0], str) else " ".join(map(str, r[0])) for r in task.rows[:9]]
    together, alone = model.predict(sources), [model(source) for source in sources]
    if task.target == "number":
        assert all(math.isnan(each.score) for each in together)
        numbers = [float(each.text) for each in together]
        assert numbers == pytest.approx([float(each.text) for each in alone], abs=1e-4)
        return
    assert [each.text for each in together] == [each.text for each in alone]
    pairs = [(source, output.text) for source, output in zip(sources, together, strict=True)]
    for output, scored in zip(together, model.score(pairs), strict=True):
        assert output.score == pytest.approx(scored.log_probability, abs=1e-4)
        assert json.loads(json.dumps(output.as_dict()))["text"] == output.text


def test_each_run_has_a_report(learnt: tuple[Task, Path]) -> None:
    """S9: the scores of evaluate on the held-out rows, examples by quality, three looks."""
    task, run = learnt
    made = report(run)
    rows = [(made_row(r[0]), str(r[1])) for r in task.rows[:9]]
    assert made.row_count == 9
    assert made.scores[0].value == pytest.approx(evaluate(load(run), rows).scores[0].value)
    assert made.rank_rows()[0].quality >= made.rank_rows()[-1].quality
    page = made.page()
    assert len(made.views) == 3
    for heading in (
        "Best examples",
        "Worst examples",
        "Length against quality",
        made.views_heading,
    ):
        assert f"<h2>{heading}</h2>" in page
    assert json.dumps(made.as_dict())


def made_row(cell: Any) -> str:
    return cell if isinstance(cell, str) else " ".join(map(str, cell))


@pytest.mark.parametrize("name", ["label", "tags", "number", "from vector"])
def test_resumed_is_as_if_never_stopped(name: str, tmp_path: Path) -> None:
    """RELIABILITY A3 holds for heads and for columns that are not text."""
    task = TASKS[name]
    options_of_run = chosen(task, updates=6, validate_every=2)
    train(task.rows, tmp_path / "whole", options=options_of_run)
    for step in (2, 3):
        sitting(tmp_path / "parts", options_of_run, until=step, data=task.rows)
    train(task.rows, tmp_path / "parts", options=options_of_run)
    assert_same(tmp_path / "parts", tmp_path / "whole")


def test_a_language_model_needs_one_column(tmp_path: Path) -> None:
    """S1.2: no source; a text file is one row a line, and all rows may share nothing."""
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{text}\n\n" for text in TEXTS))
    base = options(updates=120, validate_every=120, rate=0.02, patience=0)
    lines = {**base, "source": "none", "target": {"unit": "word"}}
    lines["data"] = {**base["data"], "lines": "rows"}
    lines["model"] = {"embedding": 8, "decoder": base["model"]["decoder"]}
    result = train(str(path), tmp_path / "run", options=lines)
    assert result.best.scores == {}
    scores = {each.name: each for each in evaluate(load(tmp_path / "run"), str(path)).scores}
    perplexity = scores["perplexity"]
    closed = 5 ** (3 / 4)  # three words out of five, and an end that is certain
    assert closed * 0.99 < perplexity.value < closed * 1.3


@pytest.mark.parametrize(
    ("name", "row", "sentence"),
    [
        ("tags", ("red old", "C"), "the source has 2 tokens and the target 1 tags; give each"),
        ("number", ("red", "many"), "target: 'many' is not one number; write finite numbers"),
        ("number", ("red", "nan"), "target: 'nan' is not one number"),
        ("number", ("red", "3,14"), "target: '3,14' is not one number; write finite numbers, with"),
        ("from vector", ("1 2 3", "ax"), "source: there are 3 numbers where 2 numbers should be"),
    ],
)
def test_a_row_that_does_not_fit(
    name: str, row: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    """With its place and the cure; with skip_bad it is counted and left out."""
    task = TASKS[name]
    rows = [*task.rows, row]
    short = chosen(task, updates=1, validate_every=1)
    with pytest.raises(DataError) as caught:
        train(rows, tmp_path / "strict", options=short, valid=task.rows[:5])
    assert str(caught.value).startswith(f"<pairs>:{len(rows)}: {sentence}")
    lenient = merge(short, {"data": {"skip_bad": True}})
    train(rows, tmp_path / "lenient", options=lenient, valid=task.rows[:5])


@pytest.mark.parametrize("learnt", ["from label", "from vector"], indirect=True)
def test_an_input_that_cannot_be_read(learnt: tuple[Task, Path]) -> None:
    """The outputs before it come first, then one sentence with its line."""
    task, run = learnt
    model = load(run)
    good = task.rows[0][0]
    cell = good if isinstance(good, str) else " ".join(map(str, good))
    stream = model.stream([cell, "", "no such thing"])
    assert next(stream).text
    assert next(stream).stopped == "blank"
    with pytest.raises(DataError, match="^line 3: "):
        next(stream)


def test_judges_are_not_searched(learnt: tuple[Task, Path]) -> None:
    task, run = learnt
    if task.target == "text":
        assert load_text_predictor(run).predict([""])[0].stopped == "blank"
        return
    with pytest.raises(ConfigError, match="judges and does not search"):
        load(run).predict(["x"], search=seqloom.Beam(2))
    with pytest.raises(ConfigError, match="judges and does not search; leave search"):
        evaluate(load(run), task.rows, search=seqloom.Beam(2))
    with pytest.raises(ConfigError, match="lowercase=: compares written texts"):
        evaluate(load(run), task.rows, lowercase=True)
    with pytest.raises(ConfigError, match="this works for models that write"):
        load_text_predictor(run)


def test_judges_together_average_what_they_think(tmp_path: Path) -> None:
    """S7.4: probabilities of labels, and numbers themselves."""
    for name, mean in (("label", _mean_probability), ("number", _mean_number)):
        task = TASKS[name]
        runs = []
        for seed in (1, 2):
            runs.append(tmp_path / f"{name}-{seed}")
            short = {**chosen(task, updates=3, validate_every=3), "seed": seed}
            train(task.rows, runs[-1], options=short, valid=task.rows[:9])
        models = [load(run) for run in runs]
        both = seqloom.ensemble(models)
        for text in TEXTS[:5]:
            mean(both(text), [model(text) for model in models])


def _mean_probability(both: seqloom.Output, each: list[seqloom.Output]) -> None:
    odds = [math.exp(o.score) if o.text == both.text else 1 - math.exp(o.score) for o in each]
    assert math.exp(both.score) == pytest.approx(sum(odds) / len(odds), abs=1e-5)


def _mean_number(both: seqloom.Output, each: list[seqloom.Output]) -> None:
    numbers = [float(output.text) for output in each]
    assert float(both.text) == pytest.approx(sum(numbers) / len(numbers), abs=1e-3)


CHECKED: dict[str, Callable[[list[str]], bool]] = {
    "label": lambda lines: "target: labels, 2 different" in lines,
    "tags": lambda lines: "target: tags, 2 different" in lines,
    "number": lambda lines: any(line.startswith("target: numbers, mostly") for line in lines),
}


@pytest.mark.parametrize("name", CHECKED)
def test_check_describes_every_kind(name: str) -> None:
    """Sizes and an estimate of time, as for text."""
    task = TASKS[name]
    lines = list(check_data(TrainingRequest(task.rows, options=chosen(task))))
    assert CHECKED[name](lines)
    assert any(line.startswith("training would take ") for line in lines)
    assert any(line.startswith("verdict: ") for line in lines)


@pytest.mark.parametrize(("name", "row"), [("tags", ("red old", "C")), ("number", ("red", "many"))])
def test_check_counts_what_training_would_refuse(name: str, row: tuple[str, str]) -> None:
    """A row that its fields cannot take, or that is not aligned, is a finding and an error."""
    task = TASKS[name]
    found = check_data(TrainingRequest([*task.rows, row], options=chosen(task)))
    with pytest.raises(DataError, match="1 row cannot be used"):
        assert not list(found)


RARE = {
    "label": ("target: labels, 22 different", [("red", f"rare{n}") for n in range(20)]),
    "tags": ("target: tags, 22 different", [("red", f"rare{n}") for n in range(20)]),
    "from label": ("source: labels, 25 different", [(f"rare{n}", "der") for n in range(20)]),
}


@pytest.mark.parametrize("name", RARE)
def test_labels_are_learnt_from_every_row(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of rows that the sample leaves out, when training and when checking."""
    monkeypatch.setattr(importlib.import_module("seqloom.surveys.survey"), "SAMPLE", 10)
    task, (sentence, rare) = TASKS[name], RARE[name]
    rows = [*task.rows, *rare]
    short = chosen(task, updates=1, validate_every=1)
    assert sentence in list(check_data(TrainingRequest(rows, options=short)))
    train(rows, tmp_path / "run", options=short, valid=rows[-20:])
    assert sentence in describe(tmp_path / "run").lines()
    told: list[str] = []
    with pytest.raises(DataError, match="1 row cannot be used"):
        told.extend(check_data(TrainingRequest([("red", ""), *rows], options=short)))
    assert sentence in told


def test_tags_belong_to_tokens_of_a_text() -> None:
    with pytest.raises(ConfigError, match="vector and tags do not go together"):
        TrainingRequest([("1", "a")], options={"source": "vector", "target": "tags"}).outline()
