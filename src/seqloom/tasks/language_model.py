"""Language models: texts without a source, scored and continued (S8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seqloom.baselines.ngrams import NGrams, last_tokens
from seqloom.config import Config, TextConfig
from seqloom.data import Corpus, Data, Report
from seqloom.errors import ConfigError
from seqloom.explanations.explained_output import (
    Cell,
    ExplainedText,
    language_model_text,
    language_model_tokens,
)
from seqloom.fields import UNK, Field
from seqloom.metrics import Score, bits_per_character, nats_per_character, perplexity
from seqloom.model import Network
from seqloom.prediction import Output, ScoredOutput, TextPredictor
from seqloom.remedies import Remedy, Setting
from seqloom.runs.held_out import HeldOut, Measurement, exposure_gap, symbol_guess_loss
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation, ValidationSample
from seqloom.runs.streams import chunk_steps, chunks
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Evaluation, with_baselines
from seqloom.tasks.examples import EXAMPLES, ExampleInput, name_field
from seqloom.tasks.report_rows import HeldOutRow, ReportRow, ReportRows, Scale
from seqloom.tasks.task import TASKS, Task
from seqloom.tasks.text import TEXT, text_predictor
from seqloom.training import measure_stream

__all__ = ["LANGUAGE_MODEL", "LanguageModelTask", "explain_text", "language_scores", "ngram_scores"]

SCALE = Scale("nats a character", "tokens", digits=2, top=None, lower_is_better=True)
ORDERS = {"character": 7, "byte": 7}  # longest n-grams; 5 for other units
BEGINNING = 4  # words of a validation text in an example
STREAM_ROWS = 16  # parallel rows of a validation stream


class HeldOutTexts(HeldOut[TextPredictor]):
    """Evaluates weights by the loss of validation texts; without a source there are no outputs to
    compare.
    """

    def measure(self, tensors: Mapping[str, Tensor]) -> Measurement:
        """The loss per token; a stream is read from beginning to end."""
        if not self.model.is_stream:
            return super().measure(tensors)
        self.set_weights(tensors)
        read = chunks(self.rows, lanes=STREAM_ROWS, steps=chunk_steps(self.training))
        return Measurement(measure_stream(self.model.network, read))

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The validation of the newest step; there is no exposure gap for texts without an end."""
        endless = self.model.is_stream or not self.model.target.has_end
        gap = 0.0 if endless else exposure_gap(self, measured.loss)
        return replace(super().validation(progress, measured, samples), gap=gap)


class LanguageModelTask(Task[TextPredictor]):
    """A target of text, without a source."""

    kind = "text"
    decodes = True
    more_outputs = "--n-best 3"
    verb = "Continue"

    def describe_fields(self, source: Field, target: Field) -> str:
        """The text to continue."""
        return f"Continues {name_field(target)}"

    def examples(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> list[ExampleInput]:
        """Beginnings of held-out texts."""
        texts = [row.target for row in held if UNK not in np.asarray(row.target_values)]
        beginnings = (" ".join(text.split()[:BEGINNING]) for text in texts)
        found = list(dict.fromkeys(each for each in beginnings if each))
        return [ExampleInput(each) for each in found[:EXAMPLES]]

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> TextPredictor:
        """A predictor that continues prompts."""
        return text_predictor(config, source, target, network, run=run)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[TextPredictor]:
        """The loss of validation texts."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutTexts(prepared, model)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of predicting token frequencies."""
        return symbol_guess_loss(train, valid, target.items.count)

    def describe(self, config: Config) -> str:
        """Describe what a model does."""
        return "a language model foretells given texts"

    def evaluate(
        self,
        model: TextPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """Perplexity and bits per character, compared with n-grams of the training data."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        report = Report()
        texts = [row.target for row in self.data_rows(model, data, options, report)]
        return with_baselines(
            Evaluation(report, tuple(language_scores(model, texts))),
            model,
            lambda place: ngram_scores(model, texts, place),
        )

    def report_rows(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Texts, scored by their loss per character."""
        texts = [row.target for row in held]
        rows = tuple(
            ReportRow("", text, "", each.log_probability / max(1, count), len(each.tokens), 0.0)
            for text, count, each in zip(
                texts, _characters(model, texts), _score_texts(model, texts), strict=True
            )
        )
        return ReportRows(SCALE, rows, tuple(language_scores(model, texts)))

    def cells(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> list[Cell]:
        """The texts themselves, as input for explanations."""
        return [row.target for row in held if row.is_short(row.target, row.target_values)]

    def explain(
        self, model: TextPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedText:
        """A text as read by the model: the input, or its own output."""
        if isinstance(output, Output) and output.ids:
            return language_model_tokens(model, output.ids)
        if output is not None:
            raise ConfigError(
                "a language model is seen while it reads the input",
                remedy=Remedy("leave {} out", Setting("output")),
            )
        return language_model_text(model, str(cell))


LANGUAGE_MODEL = TASKS.part("language model")(LanguageModelTask())


@dataclass(frozen=True)
class _Lines:
    """The loss of each line of a text, with its numbers of tokens and characters."""

    log_probabilities: NDArray[np.float64]
    tokens: NDArray[np.int64]
    characters: NDArray[np.int64]

    def scores(self) -> list[Score]:
        """Perplexity, and losses per character."""
        return [
            perplexity(self.log_probabilities, self.tokens),
            bits_per_character(self.log_probabilities, self.characters),
            nats_per_character(self.log_probabilities, self.characters),
        ]


def language_scores(model: TextPredictor, texts: Sequence[str]) -> list[Score]:
    """Perplexity per token, bits and nats per character; a line end is a character."""
    scored = _score_texts(model, texts)
    found = np.array([each.log_probability for each in scored])
    tokens = np.array([len(each.tokens) for each in scored])
    return _Lines(found, tokens, _characters(model, texts)).scores()


def ngram_scores(model: TextPredictor, texts: Sequence[str], place: Path) -> dict[str, Score]:
    """The same scores for n-grams counted in the model's training data.

    RunError if that is missing.
    """
    target, size = model.target, model.target.size
    config: TextConfig = target.config
    order = ORDERS.get(config.unit, 5)
    learnt, part = last_tokens(Corpus.open(place).targets)
    known = NGrams.learn(learnt, order=order, vocabulary=size)
    rows = target.rows(texts)
    if model.is_stream:
        rows = [row[: len(row) - target.closing] for row in rows]
    tokens = np.array([len(row) for row in rows])
    values = known.log_probabilities(np.concatenate(rows))
    sums = np.add.reduceat(values, np.cumsum(tokens) - tokens)
    scores = _Lines(sums, tokens, _characters(model, texts)).scores()
    name = f"{order}-grams{part}"
    return {name: scores[0], f"{name} by character": scores[1]}


def _score_texts(model: TextPredictor, texts: Sequence[str]) -> list[ScoredOutput]:
    return model.score_lines([("", text) for text in texts])


def _characters(model: TextPredictor, texts: Sequence[str]) -> NDArray[np.int64]:
    """The characters of each text, with a line end for each line; lines of a stream have one
    already.
    """
    return np.array([len(text) + (not model.is_stream) for text in texts])


def explain_text(
    model: TextPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedText:
    """An input with the model's output text, or with the given one."""
    task = LANGUAGE_MODEL if model.is_language_model else TEXT
    return task.explain(model, cell, output)
