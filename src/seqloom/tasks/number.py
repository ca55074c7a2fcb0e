"""Numbers: regression by a head on the encoder."""

from collections.abc import Sequence

from seqloom.data import Corpus
from seqloom.explanations.explained_output import Cell, ExplainedNumber
from seqloom.explanations.media import group_features
from seqloom.fields import Field
from seqloom.fields.numbers import read_number
from seqloom.prediction import NumberPredictor, Output
from seqloom.runs.held_out import number_guess_loss
from seqloom.tasks.head_task import HeadTask
from seqloom.tasks.outputs import encode_sources, refuse_output
from seqloom.tasks.report_rows import HeldOutRow, ReportRows, Scale, output_rows, source_length
from seqloom.tasks.task import TASKS

__all__ = ["NUMBER", "NumberTask"]

SCALE = Scale("off by", digits=3, top=None, lower_is_better=True)


class NumberTask(HeadTask[NumberPredictor]):
    """A target of numbers."""

    kind = "number"
    verb = "Estimate"
    plural = "numbers"
    predictor_class = NumberPredictor
    digits = 3
    has_perplexity = False

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The squared error of predicting the mean."""
        return number_guess_loss(train, valid)

    def describe_loss(self, loss: float) -> str:
        """The loss with its name."""
        return f"squared error {loss:.4f}"

    def report_rows(self, model: NumberPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Each row with its number, scored by the absolute error."""
        outputs = model.predict_rows([each.values for each in encode_sources(model, held)])
        scores = self.metrics([each.text for each in outputs], [row.target for row in held])
        counted, length = source_length(model)
        rows = output_rows(model, held, outputs, _negative_error, length=length)
        return ReportRows(SCALE._replace(length=counted), rows, tuple(scores))

    def explain(
        self, model: NumberPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedNumber:
        """An input with its number, in original units."""
        refuse_output(model, output)
        values, target = model.encode_cell(cell), model.target
        text = model.predict_rows([values])[0].text
        scale = float(target.mean[0]), float(target.spread[0])
        names, groups = model.item_names(cell, values), group_features(model, values)
        return ExplainedNumber(names, (text,), values, groups, *scale)


def _negative_error(_: int, row: HeldOutRow, output: Output) -> float:
    return -abs(float(output.text) - read_number(row.target))


NUMBER = TASKS.part("number")(NumberTask())
