"""Labels: a class for each input, by a head on the encoder."""

from collections.abc import Sequence

import numpy as np

from seqloom.explanations.explained_output import Cell, ExplainedOutput
from seqloom.metrics import score_all
from seqloom.prediction import HeadPredictor, Output
from seqloom.tasks.head_task import ClassTask
from seqloom.tasks.outputs import (
    encode_sources,
    explain_labels,
    perplexity_score,
)
from seqloom.tasks.report_rows import HeldOutRow, ReportRows, Scale, output_rows, source_length
from seqloom.tasks.target_checks import LABEL_CHECKS
from seqloom.tasks.task import TASKS

__all__ = ["LABEL", "LabelTask"]

SCALE = Scale("p of the right label, %")


class LabelTask(ClassTask):
    """A target of labels."""

    kind = "label"
    verb = "Classify"
    plural = "labels"
    data_checks = LABEL_CHECKS

    def report_rows(self, model: HeadPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Each row with its label, scored by the probability of the correct one."""
        encoded, references = encode_sources(model, held), [row.target for row in held]
        outputs = model.predict_rows([each.values for each in encoded])
        scored = model.score_encoded(encoded, references)
        compared = self.predictions(outputs, references)
        right = [100 * float(np.exp(each.log_probability)) for each in scored]
        counted, length = source_length(model)
        rows = output_rows(model, held, outputs, lambda number, *_: right[number], length=length)
        scores = (*score_all(compared), perplexity_score(scored))
        breakdowns = self.breakdowns(model, compared)
        return ReportRows(SCALE._replace(length=counted), rows, scores, breakdowns)

    def explain(
        self, model: HeadPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedOutput:
        """An input with its predicted label, or with the given one."""
        return explain_labels(model, cell, output, one_for_each=False)


LABEL = TASKS.part("label")(LabelTask())
