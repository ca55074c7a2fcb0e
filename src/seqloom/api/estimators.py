"""scikit-learn estimators, for pipelines, cross-validation and grid search.

Each `fit` trains a run in `run`, or in a temporary folder deleted with the estimator.
"""

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Self
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.data import ArrowStream, as_data
from seqloom.errors import ConfigError, DataError
from seqloom.prediction import OutputOptions

try:
    from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
    from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
except ImportError:
    raise ConfigError(
        "estimators need scikit-learn, which is not installed",
        remedy="pip install 'seqloom[look]'",
    ) from None

__all__ = [
    "SequenceClassifier",
    "SequenceForecaster",
    "SequenceTagger",
    "SequenceTransducer",
]


class _SequenceEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class: `fit` trains a run, `predict` uses its model."""

    target_kind: ClassVar[str]

    def __init__(
        self,
        *,
        model: str = "auto",
        source: str | None = None,
        options: Mapping[str, Any] | None = None,
        run: str | Path | None = None,
        watch: bool = False,
    ) -> None:
        self.model = model
        self.source = source
        self.options = options
        self.run = run
        self.watch = watch

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the sources `X` and their targets `y`."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        targets = [_plain(each) for each in y]
        kind = f":{self.target_kind}"
        self._train(_inputs(X), targets, source=self.source, target=kind, options=self.options)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The output for each source, as text."""
        return np.array([each.text for each in self._outputs(X)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.non_deterministic = False
        tags.no_validation = True
        return tags

    def _train(
        self,
        data: Any,
        targets: Any,
        *,
        source: str | None,
        target: str,
        options: Mapping[str, Any] | None,
    ) -> None:
        run = Path(_own_folder(self) if self.run is None else self.run)
        self.result_ = train(
            data,
            targets,
            run=run,
            source=source,
            target=target,
            model=self.model,
            options=options,
            restart=run.exists(),
            watch=None if self.watch else False,
        )
        self.model_ = load(run)

    def _require_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")

    def _outputs(self, given: Any, **wishes: Any) -> list[Any]:
        self._require_fit()
        return self.model_.predict(_inputs(given), options=OutputOptions(**wishes))


class SequenceClassifier(ClassifierMixin, _SequenceEstimator):  # type: ignore[misc]
    """Classifies sequences."""

    target_kind = "label"

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the sequences `X` and their labels `y`."""
        super().fit(X, y)
        self.classes_ = np.unique(np.asarray(y))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each sequence, in the type of the training labels."""
        return self._labels([each.text for each in self._outputs(X)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`."""
        outputs = self._outputs(X, alternatives=len(getattr(self, "classes_", ())))
        places = {str(label): number for number, label in enumerate(self.classes_)}
        found = np.zeros((len(outputs), len(places)))
        for row, output in zip(found, outputs, strict=True):
            for other in output.tokens[0].alternatives:
                if other.text in places:
                    row[places[other.text]] = np.exp(other.log_probability)
        shares: NDArray[np.float64] = found / found.sum(axis=1, keepdims=True)
        return shares

    def _outputs(self, given: Any, **wishes: Any) -> list[Any]:
        outputs = super()._outputs(given, **wishes)
        for number, output in enumerate(outputs, 1):
            if output.stopped == "blank":
                raise DataError(
                    "a blank input has no label",
                    place=f"input {number}",
                    remedy="leave it out, or fill it in",
                )
        return outputs

    def _labels(self, texts: list[str]) -> NDArray[Any]:
        names = {str(label): label for label in self.classes_}
        return np.array([names[text] for text in texts], dtype=self.classes_.dtype)


class SequenceTagger(_SequenceEstimator):
    """Tags each word of a sequence; `y` holds lists of tags, or strings of tags with spaces."""

    target_kind = "tags"

    def predict(self, X: Any) -> NDArray[Any]:
        """The tags of each sequence, as a list."""
        found = self._outputs(X)
        tags = np.empty(len(found), dtype=object)
        tags[:] = [each.text.split() for each in found]
        return tags

    def score(self, X: Any, y: Any) -> float:
        """Tag accuracy."""
        expected = [str(_plain(each)).split() for each in y]
        pairs = [
            (one, other)
            for found, wanted in zip(self.predict(X), expected, strict=True)
            for one, other in zip(found, wanted, strict=True)
        ]
        return float(np.mean([one == other for one, other in pairs]))


class SequenceTransducer(_SequenceEstimator):
    """Maps sequences to texts: translation, inflection, pronunciation, dates."""

    target_kind = "text"

    def score(self, X: Any, y: Any) -> float:
        """The share of exact matches."""
        return float(np.mean([one == other for one, other in zip(self.predict(X), y, strict=True)]))


class SequenceForecaster(_SequenceEstimator):
    """Forecasts the next `horizon` steps of a series, given as the rows of `X` or `y`, oldest
    first.
    """

    target_kind = "series"

    def __init__(
        self,
        *,
        horizon: int = 1,
        model: str = "auto",
        options: Mapping[str, Any] | None = None,
        run: str | Path | None = None,
        watch: bool = False,
    ) -> None:
        super().__init__(model=model, options=options, run=run, watch=watch)
        self.horizon = horizon

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train to forecast the columns of `X` from their past; `y` is not needed."""
        options = merge({"target": {"horizon": self.horizon}}, self.options or {})
        self._train(_series(X), None, source="all:series", target="all:series", options=options)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean forecast of the steps after `X`: a row for each step, a column for each."""
        self._require_fit()
        forecaster: Any = self.model_.as_forecaster()
        return np.asarray(forecaster.forecast_after(_series(X)).mean, np.float64)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean absolute error of the last `horizon` rows given those before, negated."""
        table = np.asarray(X, np.float64).reshape(len(X), -1)
        return -float(np.abs(self.predict(table[: -self.horizon]) - table[-self.horizon :]).mean())


def _own_folder(owner: object) -> Path:
    """A temporary run directory, deleted with its owner."""
    folder = mkdtemp(prefix="seqloom-")
    finalize(owner, rmtree, folder, ignore_errors=True)
    return Path(folder) / "run"


def _inputs(given: Any) -> Any:
    """Sources as `predict` takes them; an array of one column is a list of its cells."""
    data = as_data(given)
    if isinstance(data, list) and data and all(isinstance(row, tuple) for row in data):
        return [row[0] if len(row) == 1 else row for row in data]
    return given if isinstance(given, ArrowStream) else data


def _plain(value: Any) -> Any:
    """A target as a text or a number; a list of tags is joined with spaces."""
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(str, value))
    return value.item() if isinstance(value, np.generic) else value


def _series(given: Any) -> Any:
    """A table unchanged; an array as a table whose columns are named by number."""
    if isinstance(given, ArrowStream):
        return given
    table = np.asarray(given, np.float64).reshape(len(given), -1)
    return {f"x{number}": column for number, column in enumerate(table.T, 1)}
