"""Every kind of target has its task, which a new run asks once."""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

import seqloom
from seqloom.api.train import train
from seqloom.config import Config, TextConfig, merge, plan, validate
from seqloom.data import Data
from seqloom.model import build
from seqloom.prediction import Output, Predictor
from seqloom.runs.progress import Origin, Progress
from seqloom.tasks import LANGUAGE_MODEL, TASKS, TEXT, introduce, task_of
from tests.explain.kinds import KINDS, case
from tests.runs.support import PAIRS, options

TEXTS = ["".join(pair) for pair in PAIRS]
SERIES = "time,load\n" + "".join(f"{2000 + n},{math.sin(n):.3f}\n" for n in range(120))


def small(kind: str, *, source: Any = "text") -> dict[str, Any]:
    """The smallest model of a target of this kind."""
    chosen = merge(options(updates=2, validate_every=2), {"source": source, "target": kind})
    del chosen["model"]["decoder"]
    return chosen


RUNS: dict[str, tuple[Data, dict[str, Any]]] = {
    "text": (PAIRS, options(updates=2, validate_every=2)),
    "language model": (
        TEXTS,
        {"source": "none", "model": {}, "training": {"updates": 2, "workers": 1, "curves": False}},
    ),
    "label": ([(a, b[0]) for a, b in PAIRS], small("label")),
    "tags": (
        [(" ".join(a), " ".join(b)) for a, b in PAIRS],
        small("tags", source={"kind": "text", "unit": "symbol", "spelling": 0}),
    ),
    "number": ([(a, f"{n}") for n, (a, _) in enumerate(PAIRS)], small("number")),
    "blanks": (TEXTS, small("blanks", source={"kind": "text", "unit": "character"})),
    "series": (
        SERIES,
        {
            "target": {"kind": "series", "horizon": 2},
            "source": {"window": 6},
            "training": {"updates": 2, "workers": 1, "curves": False},
        },
    ),
}


def count_calls(
    functions: dict[str, Callable[..., Any]], work: Callable[[], object]
) -> Counter[str]:
    """How often each function is called while something is done."""
    names: dict[CodeType, str] = {unwrap(f).__code__: name for name, f in functions.items()}
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in names:
            found[names[frame.f_code]] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("kind", list(RUNS))
def test_a_new_run_plans_once_and_builds_its_network_twice(kind: str, tmp_path: Path) -> None:
    """Once without weights, to check it before anything is made, and once to train."""
    data, chosen = RUNS[kind]
    if kind == "series":
        path = tmp_path / "load.csv"
        path.write_text(SERIES)
        data = path
    found = count_calls(
        {"plan": plan, "build": build}, lambda: train(data, tmp_path / "run", options=chosen)
    )
    assert found["plan"] == 1
    assert found["build"] <= 2
    check_introduction(kind, seqloom.load(tmp_path / "run"))


VERBS = {
    "text": "Translate",
    "language model": "Continue",
    "label": "Classify",
    "tags": "Tag",
    "number": "Estimate",
    "blanks": "Fill in",
    "series": "Forecast",
}


def check_introduction(kind: str, model: Predictor) -> None:
    """The verb of the task, the held-out result, and examples that the model can read."""
    known = introduce(model)
    assert known.verb == VERBS[kind]
    assert known.data.startswith("learnt from ")
    assert known.result
    assert 0 < len(known.examples) <= 3
    if kind != "series":
        assert len(model.predict([each.input for each in known.examples])) == len(known.examples)
    if kind == "text":
        assert known.examples[0].input in [source for source, _ in PAIRS]
        assert re.search(r" \d+\.\d \(\d+\.\d–\d+\.\d\) on ", known.result)


def test_every_kind_of_target_has_a_task() -> None:
    """The language model is what a target of text is without a source."""
    kinds = {name: task_of(_config(each)) for name, each in KINDS.items()}
    assert {each.kind for each in kinds.values()} == set(TASKS.kinds()) - {"language model"}
    assert kinds["language"] is LANGUAGE_MODEL
    assert task_of(Config(target=TextConfig())) is TEXT


def _config(kind: Any) -> Config:
    config: Config = validate({"source": kind.source, "target": kind.target}, place="test")
    return config


@pytest.mark.parametrize("name", list(KINDS))
def test_an_explained_output_is_what_the_model_says(name: str, tmp_path: Path) -> None:
    """The quantity that is explained, computed from the explained input, is that of the output."""
    model, cell = case(name, tmp_path)
    explained = task_of(model.config).explain(model, cell)
    memory = model.network.encoder.encode(explained.source_batch())
    with torch.no_grad():
        found = explained.scores(model.network, memory)[0].tolist()
    if model.is_language_model:
        (scored,) = model.score([("", cell)])
        assert found == pytest.approx([each.log_probability for each in scored.tokens], abs=1e-4)
    else:
        assert found == pytest.approx(_values(model.predict([cell])[0]), abs=1e-4, rel=1e-3)


def _values(output: Output) -> list[float]:
    if output.forecast is not None:
        means: list[float] = output.forecast.mean.mean(axis=0).tolist()
        return means
    return [each.log_probability for each in output.tokens] or [float(output.text)]


def test_what_a_run_began_from_is_kept_as_values() -> None:
    """Progress of 0.1.0, in which it is a sentence, is read as well."""
    begun = Progress(origin=Origin("runs/a, step 3", 12))
    assert Progress.from_dict(begun.as_dict()) == begun
    assert str(begun.origin) == "runs/a, step 3, step 12"
    old = {**Progress().as_dict(), "origin": "runs/a, step 3, step 12"}
    assert Progress.from_dict(old).origin == begun.origin
    for words in ("", "the front end of weights.safetensors"):
        assert Progress.from_dict({**old, "origin": words}).origin == Origin(words=words)
