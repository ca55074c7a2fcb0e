"""Labels: a class for each input, by a head on the encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqloom.config import Config
from seqloom.data import Corpus, Data
from seqloom.explain.compute.explained_output import Cell, ExplainedOutput
from seqloom.fields import Field
from seqloom.model import Network
from seqloom.prediction import HeadPredictor, Output
from seqloom.runs.diagnosis import symbol_guess_loss
from seqloom.runs.held_out import HeldOut
from seqloom.runs.prepare import PreparedData
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Evaluation
from seqloom.tasks.outputs import (
    HeldOutOutputs,
    encode_sources,
    evaluate_outputs,
    explain_labels,
    perplexity_score,
)
from seqloom.tasks.report_rows import HeldOutRow, ReportRows, Scale, output_rows, source_length
from seqloom.tasks.task import TASKS, Task

__all__ = ["LABEL", "LabelTask"]

SCALE = Scale("p of the right label, %")


class LabelTask(Task[HeadPredictor]):
    """A target of labels."""

    kind = "label"

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> HeadPredictor:
        """The network as a classifier."""
        known = None if run is None else run.cache_directory / "train"
        return HeadPredictor(config, source, target, network, known)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[HeadPredictor]:
        """Accuracy and the like over all held-out rows."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutOutputs(prepared, model, self)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of guessing by how common each label is."""
        return symbol_guess_loss(train, valid, target.items.count)

    def describe(self, config: Config) -> str:
        """What a model does."""
        return "a model of labels judges"

    def evaluate(
        self,
        model: HeadPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """The metrics of the labels, their perplexity, and what baselines reach."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        return evaluate_outputs(self, model, data, options)

    def report_rows(self, model: HeadPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Each row with its label, judged by the probability of the right one."""
        encoded, references = encode_sources(model, held), [row.target for row in held]
        outputs = model.predict_rows([each.values for each in encoded])
        scored = model.score_encoded(encoded, references)
        scores = self.metrics([each.text for each in outputs], references)
        right = [100 * float(np.exp(each.log_probability)) for each in scored]
        counted, length = source_length(model)
        rows = output_rows(model, held, outputs, lambda number, *_: right[number], length=length)
        all_scores = (*scores, perplexity_score(scored))
        return ReportRows(SCALE._replace(length=counted), rows, all_scores)

    def explain(
        self, model: HeadPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedOutput:
        """An input with its label, or with this one."""
        return explain_labels(model, cell, output, one_for_each=False)


LABEL = TASKS.part("label")(LabelTask())
