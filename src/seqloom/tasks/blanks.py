"""Blanks: masked tokens of a text, predicted from their context (S8, fill-in)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from seqloom.baselines.bigrams import Bigrams
from seqloom.baselines.ngrams import last_tokens
from seqloom.config import BlanksConfig, Config, merge, one_column
from seqloom.data import Corpus, Data, Masking, Report, even_indices
from seqloom.errors import DataError
from seqloom.explanations.explained_output import Cell, ExplainedBlanks
from seqloom.fields import BLANK, EMPTY, UNK, Field, Values
from seqloom.metrics import Score, accuracy_from_counts, perplexity
from seqloom.model import Network
from seqloom.prediction import BlankQuery, BlankScores, MaskFiller, Output
from seqloom.runs.held_out import HeldOut, Measurement, symbol_guess_loss
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import ValidationSample
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Evaluation, with_baselines
from seqloom.tasks.examples import ExampleInput, name_field, plain_rows, spread_by_length
from seqloom.tasks.outputs import refuse_output
from seqloom.tasks.report_rows import HeldOutRow, ReportRow, ReportRows, Scale
from seqloom.tasks.task import TASKS, Task

__all__ = ["BLANKS", "BlanksTask", "HeldOutBlanks", "bigram_score", "blank_scores"]

ROWS = 1_000  # masked rows per validation
BASELINE = "two-sided bigrams"
KIND = BlanksConfig().kind
SCALE = Scale("told right, %", "tokens")


class HeldOutBlanks(HeldOut[MaskFiller]):
    """Evaluates weights on the same masked tokens of validation rows each time."""

    def __init__(self, prepared: PreparedData, model: MaskFiller, masking: Masking) -> None:
        super().__init__(prepared, model)
        batch = self.rows.batch(even_indices(len(self.rows), ROWS))
        masked = (masking.all_positions if model.head.around else masking).mask(batch)
        self._questions = []
        for row, length, target in zip(
            masked.source, masked.source_lengths, masked.target, strict=True
        ):
            positions = np.flatnonzero(target != EMPTY)
            values = row[:length].astype(np.int32)
            self._questions.append(BlankQuery(values, positions, target[positions]))

    def measure(self, tensors: Mapping[str, Tensor]) -> Measurement:
        """The mean negative log-likelihood of masked tokens, and the accuracy."""
        self.set_weights(tensors)
        answers = self.model.answer_queries(self._questions)
        told = BlankScores(*map(np.concatenate, zip(*answers, strict=True)))
        right = told.guesses == told.tokens
        counts = np.array([[right.sum(), len(right)]], np.float64)
        accuracy = accuracy_from_counts(counts, what="blanks", seed=None)
        return Measurement(-float(told.log_probabilities.mean()), (accuracy,))

    def samples(self) -> list[ValidationSample]:
        """Rows with one blank each, the original token, and the model's predictions."""
        shown = [each for each in self._questions if len(each.positions)][: self.training.samples]
        rows, references = [], []
        for question in shown:
            middle = len(question.positions) // 2
            values = _without_blanks(question)
            values[question.positions[middle]] = BLANK
            rows.append(values)
            references.append(self.model.target.cell(question.tokens[[middle]]))
        outputs = self.model.predict_rows(rows)
        return [
            ValidationSample(
                self.model.text_with_blanks.cell(row[:-1]), reference, output.tokens[0].text
            )
            for row, reference, output in zip(rows, references, outputs, strict=True)
        ]


class BlanksTask(Task[MaskFiller]):
    """A target of blanks in the text of the source."""

    kind = KIND
    verb = "Fill in"

    def describe_fields(self, source: Field, target: Field) -> str:
        """The text in which blanks are filled."""
        return f"Fills blanks in {name_field(source)}"

    def examples(self, model: MaskFiller, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
        """Validation texts with their middle token masked."""
        found = []
        for row in spread_by_length(plain_rows(model, held)):
            values = np.array(row.source_values)
            middle = (len(values) - model.source.closing) // 2
            left_out = model.target.cell(values[[middle]])
            values[middle] = BLANK
            cell = model.text_with_blanks.cell(values[: len(values) - model.source.closing])
            if model.text_with_blanks.fault(cell) is None:
                found.append(ExampleInput(cell, left_out))
        return found

    def masking(self, config: Config, target: Any) -> Masking:
        """Draw new masks for each update."""
        return Masking(target.config, target.fillable, config.seed)

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> MaskFiller:
        """A predictor that fills blanks."""
        known = None if run is None else run.cache_directory / "train"
        return MaskFiller(config, source, target, network, known)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOutBlanks:
        """The accuracy on masked validation tokens."""
        config, target = prepared.config, prepared.target
        model = self.predictor(config, prepared.source, target, network)
        return HeldOutBlanks(prepared, model, self.masking(config, target))

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of predicting token frequencies."""
        return symbol_guess_loss(train, valid, target.items.count)

    def data_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A column named on one side is used for both."""
        data = options.get("data", {})
        if not {"source", "target"} & set(data):
            return options
        return merge(options, {"data": one_column(data)})

    def describe(self, config: Config) -> str:
        """Describe what a model does."""
        return "a model of gaps fills them in"

    def evaluate(
        self,
        model: MaskFiller,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """The accuracy for each token given all others, compared with a bigram baseline."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        report = Report()
        texts = [row.target for row in self.data_rows(model, data, options, report)]
        return with_baselines(
            Evaluation(report, tuple(blank_scores(model.token_scores(texts)))),
            model,
            lambda place: bigram_score(model, texts, place),
        )

    def report_rows(self, model: MaskFiller, held: Sequence[HeldOutRow]) -> ReportRows:
        """Texts, scored by the accuracy for each token given all others."""
        texts = [row.target for row in held]
        told = model.token_scores(texts)
        rows = tuple(
            ReportRow(
                "",
                text,
                model.target.cell(each.guesses),
                100 * float((each.guesses == each.tokens).sum()) / max(1, len(each.tokens)),
                len(each.tokens),
                float(each.log_probabilities[each.tokens != UNK].sum()),
            )
            for text, each in zip(texts, told, strict=True)
        )
        return ReportRows(SCALE, rows, tuple(blank_scores(told)))

    def cells(self, model: MaskFiller, held: Sequence[HeldOutRow]) -> list[Cell]:
        """Short texts with a blank in the middle."""
        texts = super().cells(model, held)
        return [cell for text in texts if (cell := _with_blank(model, text)) is not None]

    def explain(
        self, model: MaskFiller, cell: Cell, output: Output | str | None = None
    ) -> ExplainedBlanks:
        """A text with blanks, and the model's token for each."""
        refuse_output(model, output)
        values = model.encode_cell(cell)
        if not (values == BLANK).any():
            raise DataError(
                f"no gap is among the first {model.config.data.max_source:,} tokens, which are "
                "all that is read (data.max_source)",
                remedy="give a shorter text",
            )
        (found,) = model.predict_rows([values])
        names = model.item_names(cell, values), tuple(model.target.tokens(found.ids))
        return ExplainedBlanks(*names, values, None, found.ids, model.target.fillable)

    def example_command(self, config: Config, run: Path, data: str) -> str:
        """The command that uses a finished run."""
        marker = getattr(config.target, "marker", "___")
        return f"echo 'your {marker} text' | seqloom predict {run}"


BLANKS = TASKS.part(KIND)(BlanksTask())


def blank_scores(told: Sequence[BlankScores]) -> list[Score]:
    """The accuracy for tokens given all others, and their perplexity; tokens outside the vocabulary
    count as wrong and have no perplexity.
    """
    known = [each.tokens != UNK for each in told]
    likely = [
        float(t.log_probabilities[k].sum()) for t, k in zip(told, known, strict=True) if k.any()
    ]
    counts = [int(each.sum()) for each in known if each.any()]
    right = [each.guesses == each.tokens for each in told]
    return [_accuracy(right), perplexity(likely, counts)]


def bigram_score(model: MaskFiller, texts: Sequence[str], place: Path) -> dict[str, Score]:
    """The accuracy of bigrams counted in the model's training rows.

    RunError if those are missing.
    """
    learnt, part = last_tokens(Corpus.open(place).sources)
    known = Bigrams.learn(learnt, model.target.fillable)
    right = []
    for row in model.source.rows(texts):
        tokens = np.asarray(row[: len(row) - model.source.closing], np.int64)
        asked = np.flatnonzero(model.target.fillable[tokens] | (tokens == UNK))
        right.append(known.guesses(tokens, asked) == tokens[asked])
    return {f"{BASELINE}{part}": _accuracy(right)}


def _accuracy(right: Sequence[np.ndarray]) -> Score:
    rows = np.array([(each.sum(), len(each)) for each in right], np.float64)
    return accuracy_from_counts(rows, what="blanks")


def _without_blanks(question: BlankQuery) -> Values:
    """The text with its tokens restored in place of blanks."""
    values = question.values.copy()
    values[question.positions] = question.tokens
    return values


def _with_blank(model: MaskFiller, values: Any) -> Values | None:
    """A text with a blank in its middle; None if no token can be masked."""
    places = np.flatnonzero(model.target.fillable[values])
    if not len(places):
        return None
    masked: Values = values.copy()
    masked[places[len(places) // 2]] = BLANK
    return masked
