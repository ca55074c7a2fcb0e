"""Estimators keep scikit-learn's conventions, and work in its pipelines and searches."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.model_selection import (  # type: ignore[import-untyped]
    GridSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import FunctionTransformer  # type: ignore[import-untyped]
from sklearn.utils import estimator_checks  # type: ignore[import-untyped]

import seqloom
from seqloom.errors import DataError
from tests.runs.support import PAIRS

TRAINING = {"updates": 4, "validate_every": 4, "batch_tokens": 256, "workers": 1, "curves": False}
SMALL = {"embedding": 8, "encoder": {"kind": "recurrent", "width": 8, "layers": 1}}
HEAD: dict[str, Any] = {"model": SMALL, "training": TRAINING}
WRITER: dict[str, Any] = {
    "model": {**SMALL, "decoder": {"kind": "recurrent", "width": 8, "layers": 1}},
    "training": {**TRAINING, "updates": 2, "validate_every": 2},
}
ESTIMATORS = {
    "classifier": seqloom.SequenceClassifier(options=HEAD),
    "tagger": seqloom.SequenceTagger(options=HEAD),
    "transducer": seqloom.SequenceTransducer(options=WRITER),
    "forecaster": seqloom.SequenceForecaster(options={"training": TRAINING}),
}
CONVENTIONS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params",
)
"""What scikit-learn checks of any estimator; its other checks fit matrices of numbers."""
TEXTS = ["yes indeed", "no never", "yes please", "no thanks"] * 6
LABELS = ["good", "bad"] * 12


@pytest.mark.parametrize("name", ESTIMATORS)
def test_conventions(name: str) -> None:
    """All checks that scikit-learn has for inputs that are no matrices, and each convention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says what it leaves out
        estimator_checks.check_estimator(ESTIMATORS[name])
    for check in CONVENTIONS:
        getattr(estimator_checks, check)(name, clone(ESTIMATORS[name]))
    with pytest.raises(NotFittedError, match="call fit first"):
        clone(ESTIMATORS[name]).predict(["a"])


def test_classes_and_probabilities() -> None:
    """Labels keep their type; probabilities are those of `classes_`, whatever holds the texts."""
    numbers = np.array([1, 0] * 12)
    model = clone(ESTIMATORS["classifier"]).fit(np.array(TEXTS, object)[:, None], numbers)
    assert model.classes_.tolist() == [0, 1]
    found = model.predict(pd.Series(TEXTS))
    assert found.dtype == numbers.dtype
    shares = model.predict_proba(TEXTS)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (model.classes_[shares.argmax(axis=1)] == found).all()
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(DataError, match="input 2: a blank input has no label"):
            ask(["yes", " "])


def test_in_pipelines_and_searches(tmp_path: Path) -> None:
    """Cross-validation, a step before it, and a grid; a run that is named stays."""
    model = clone(ESTIMATORS["classifier"])
    assert len(cross_val_score(model, TEXTS, LABELS, cv=2)) == 2
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, model.set_params(run=tmp_path / "run"))
    assert set(pipeline.fit(TEXTS, LABELS).predict(["YES INDEED"])) <= set(LABELS)
    assert seqloom.load(tmp_path / "run").predict(["no"])[0].text in LABELS
    search = GridSearchCV(clone(ESTIMATORS["classifier"]), {"model": ["lstm", "gru"]}, cv=2)
    assert search.fit(TEXTS, LABELS).best_params_["model"] in ("lstm", "gru")


def test_tags_texts_and_forecasts() -> None:
    tags = [["A", "B"]] * len(TEXTS)
    tagger = clone(ESTIMATORS["tagger"]).fit(TEXTS, tags)
    assert [len(each) for each in tagger.predict(TEXTS)] == [2] * len(TEXTS)
    assert 0 <= tagger.score(TEXTS, tags) <= 1
    sources, targets = zip(*PAIRS, strict=True)
    writer = clone(ESTIMATORS["transducer"]).fit(sources, targets)
    assert writer.predict(sources[:3]).shape == (3,)
    assert 0 <= writer.score(sources[:3], targets[:3]) <= 1
    waves = np.stack([np.sin(np.arange(120) / 4), np.cos(np.arange(120) / 4)], axis=1)
    options = {"training": TRAINING, "source": {"window": 12}}
    forecaster = seqloom.SequenceForecaster(horizon=3, options=options).fit(waves)
    assert forecaster.predict(waves).shape == (3, 2)
    assert forecaster.score(waves) <= 0
