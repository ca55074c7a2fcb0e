"""A run that a simple rule beats says so, with both figures and what to try (S8)."""

import random
from pathlib import Path
from typing import Any

import pytest

import seqloom.explain.plots  # noqa: F401
from seqloom.api.evaluate import evaluate
from seqloom.api.report import report
from seqloom.api.train import train
from seqloom.runs.contents import load_config
from seqloom.store import RunDirectory
from seqloom.tasks import Evaluation
from seqloom.tasks.evaluation import advice

Rows = list[tuple[str, str]]
LITTLE: dict[str, Any] = {
    "workers": 1, "curves": False, "average": "none", "samples": 0, "updates": 2, "rate": 1e-6,
}  # fmt: skip
MODEL = {"embedding": 8, "encoder": {"width": 8}}


def drawn(target: str, rows: int, seed: int) -> Rows:
    """Rows whose target one of the rules tells without fail."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(["to", "be", "or", "not"], k=5)) for _ in range(rows)]
    match target:
        case "label":
            return [(text, "yes" if "not" in text else "no") for text in texts]
        case "tags":
            return [(text, " ".join(word[0].upper() for word in text.split())) for text in texts]
        case "number":
            return [(text, str(text.split().count("be"))) for text in texts]
        case _:
            return [(text, text) for text in texts]


@pytest.mark.parametrize(
    ("target", "rule", "score"),
    [
        ("label", "naive Bayes", "accuracy "),
        ("tags", "commonest tag of each word", "accuracy 100.0 "),
        ("number", "linear", "R² 1.000 "),
        ("text", "copy of the source", ""),
    ],
)
def test_a_rule_that_is_ahead_is_named_at_the_end_and_wherever_results_are(
    target: str, rule: str, score: str, tmp_path: Path
) -> None:
    """Two updates at a rate of nearly nothing learn nothing, and counting tells all."""
    options = {"target": {"kind": target}, "source": {"unit": "word"}, "model": MODEL}
    options["training"] = LITTLE
    if target == "text":
        options["target"] = {"unit": "word"}
        options["model"] = {"encoder": {"layers": 1}, "decoder": {"layers": 1}}
    told = train(
        drawn(target, 60, 1), tmp_path, valid=drawn(target, 30, 2), options=options
    ).diagnosis
    assert f"the baseline '{rule}" in told
    assert f"is ahead: {score}" in told
    assert "try more rows than these 60, the preset " in told
    assert "training.updates=4" in told
    found = evaluate(tmp_path, drawn(target, 40, 3))
    assert isinstance(found, Evaluation)
    (sentence,) = found.ahead_lines()
    best = next(name for name in found.baselines if f"'{name}'" in sentence)
    assert f"{found.scores[0].value:.{found.scores[0].digits}f}; try" in sentence
    assert found.baselines[best].is_better_than(found.scores[0])
    assert sentence in found.lines()
    assert found.as_dict()["ahead"] == sentence
    page = report(tmp_path)
    assert page.diagnosis == told
    assert "is ahead" in page.page()


def test_a_model_ahead_of_all_rules_hears_nothing(tmp_path: Path) -> None:
    """The first word decides, which counts cannot tell."""

    def rows(count: int, seed: int) -> Rows:
        draw = random.Random(seed)
        pairs = [draw.sample(["a", "b"], 2) for _ in range(count)]
        return [(" ".join([*pair, "x"]), pair[0]) for pair in pairs]

    options = {
        "target": "label",
        "source": {"unit": "word"},
        "model": {"embedding": 16, "encoder": {"width": 16}, "decoder": {"dropout": 0.0}},
        "training": {**LITTLE, "updates": 60, "rate": 0.01},
    }
    assert train(rows(60, 1), tmp_path, valid=rows(30, 2), options=options).diagnosis == ""
    found = evaluate(tmp_path, rows(40, 3))
    assert found.ahead_lines() == []
    assert "ahead" not in found.as_dict()


def test_advice_names_what_was_not_tried(tmp_path: Path) -> None:
    """The other family of models, twice the updates, and rows first where there are few."""
    options = {"target": "label", "model": MODEL, "training": LITTLE, "source": {"unit": "word"}}
    run = train(drawn("label", 30, 1), tmp_path, valid=drawn("label", 9, 2), options=options).run
    config = load_config(RunDirectory(run))
    assert config.model.encoder.kind == "recurrent"
    assert advice(config, 300) == (
        "try more rows than these 300, the preset transformer, training.updates=4, or use the "
        "baseline"
    )
    assert advice(config, 50_000) == (
        "try the preset transformer, training.updates=4, more rows than these 50,000, or use the "
        "baseline"
    )
