"""Common parts of the targets that a head predicts without a search: labels, tags and numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from seqloom.config import HEADS, Config
from seqloom.data import Corpus, Data, even_indices
from seqloom.engine.selection import select_head_engine
from seqloom.errors import ConfigError
from seqloom.fields import EMPTY, Field
from seqloom.metrics import Predictions, fit_temperature
from seqloom.model import Network
from seqloom.prediction import HeadPredictor, Output
from seqloom.runs.held_out import HeldOut, HeldOutOutputs, Measurement, symbol_guess_loss
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation, ValidationSample
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Breakdown, Evaluation, class_breakdowns
from seqloom.tasks.outputs import evaluate_outputs
from seqloom.tasks.task import Task

__all__ = ["ClassTask", "HeadTask"]

AnyHeadPredictor = TypeVar("AnyHeadPredictor", bound=HeadPredictor)

CALIBRATION_ROWS = 2_000  # validation rows for fitting the temperature


class HeadTask(Task[AnyHeadPredictor]):
    """A target predicted by a head on the encoder."""

    predictor_class: ClassVar[type[Any]] = HeadPredictor
    plural: ClassVar[str]  # the model's outputs, in words

    def check_config(self, config: Config) -> None:
        """Raise ConfigError if a run cannot be trained as configured, or has a decoder in place of
        a head.
        """
        super().check_config(config)
        if config.model.decoder.kind not in HEADS:
            raise ConfigError(
                f"model.decoder.kind = {config.model.decoder.kind!r} writes text, and a model of "
                f"{self.plural} judges",
                remedy="leave it out, and it follows from target.kind",
            )

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> AnyHeadPredictor:
        """The network with its fields, and its training rows if it has a run."""
        known = None if run is None else run.cache_directory / "train"
        engine = None if run is None else select_head_engine(network)
        fields = config, source, target, network, known
        model: AnyHeadPredictor = self.predictor_of(network)(*fields, engine=engine)
        return model

    def predictor_of(self, network: Any) -> type[Any]:
        """The predictor class of a network."""
        return self.predictor_class

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[AnyHeadPredictor]:
        """The metrics over all validation rows."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutOutputs(prepared, model, self.metrics)

    def describe(self, config: Config) -> str:
        """Describe what a model does."""
        return f"a model of {self.plural} judges"

    def evaluate(
        self,
        model: AnyHeadPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """The metrics of the outputs, and baselines."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        return evaluate_outputs(self, model, data, options, search=search)


class HeldOutClasses(HeldOutOutputs[HeadPredictor]):
    """Evaluates weights by their predicted classes, and fits the temperature."""

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The validation of the newest step, with the fitted temperature."""
        found = super().validation(progress, measured, samples)
        return replace(found, temperature=self._temperature())

    def _temperature(self) -> float:
        batch = self.rows.batch(even_indices(len(self.rows), CALIBRATION_ROWS))
        sources = [row[:n] for row, n in zip(batch.source, batch.source_lengths, strict=True)]
        targets = [row[:n] for row, n in zip(batch.target, batch.target_lengths, strict=True)]
        scores, labels = map(np.concatenate, (self.model.score_rows(sources), targets))
        known = labels != EMPTY
        return fit_temperature(scores.astype(np.float64)[known], labels[known] - 1)


class ClassTask(HeadTask[HeadPredictor]):
    """A target of classes: one per row, or one per token."""

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[HeadPredictor]:
        """The metrics over all validation rows, and the temperature of confidences."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutClasses(prepared, model, self.metrics)

    def calibrate(self, network: Any, found: Validation) -> None:
        """Divide the scores by the temperature fitted on validation rows."""
        network.head.divide_scores(found.temperature)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of predicting class frequencies."""
        return symbol_guess_loss(train, valid, target.items.count)

    def predictions(self, outputs: Sequence[Output], references: Sequence[str]) -> Predictions:
        """Outputs with the probability of each class in them."""
        return Predictions(
            self.kind,
            [each.text for each in outputs],
            references,
            confidences=[_probabilities(each) for each in outputs],
        )

    def breakdowns(self, model: HeadPredictor, data: Predictions) -> tuple[Breakdown, ...]:
        """Breakdowns by class, by confusion and by confidence."""
        return class_breakdowns(data, model.target.tokens(range(1, model.target.items.count)))


def _probabilities(output: Output) -> list[float]:
    return [min(1.0, math.exp(token.log_probability)) for token in output.tokens]
