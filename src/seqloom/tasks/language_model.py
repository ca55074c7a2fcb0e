"""Language models: text without a source, scored and continued (S8)."""

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
from seqloom.runs.streams import STEPS, chunks
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
ORDERS = {"character": 7, "byte": 7}  # tokens in the longest n-grams; 5 of other units
BEGINNING = 4  # words of a held-out text that an example gives
STREAM_ROWS = 16  # of a held-out stream, read side by side


class HeldOutTexts(HeldOut[TextPredictor]):
    """Measures weights by the loss of held-out texts; without a source no outputs differ."""

    def measure(self, tensors: Mapping[str, Tensor]) -> Measurement:
        """The loss per token; a stream is read from its beginning to its end."""
        if not self.model.is_stream:
            return super().measure(tensors)
        self.set_weights(tensors)
        read = chunks(self.rows, lanes=STREAM_ROWS, steps=self.training.truncate or STEPS)
        return Measurement(measure_stream(self.model.network, read))

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The results of the newest step; the exposure gap of texts without an end is not
        measured."""
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
        """What is continued."""
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
        """The network as a writer that continues beginnings."""
        return text_predictor(config, source, target, network, run=run)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[TextPredictor]:
        """The loss of held-out texts."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutTexts(prepared, model)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of guessing by how common each token is."""
        return symbol_guess_loss(train, valid, target.items.count)

    def describe(self, config: Config) -> str:
        """What a model does."""
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
        """Perplexity and bits per character, beside n-grams of what the model has learnt from."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        report = Report()
        texts = [row.target for row in self.data_rows(model, data, options, report)]
        return with_baselines(
            Evaluation(report, tuple(language_scores(model, texts))),
            model.training_rows,
            lambda place: ngram_scores(model, texts, place),
        )

    def report_rows(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Texts, each judged by what a character of it costs."""
        texts = [row.target for row in held]
        rows = tuple(
            ReportRow("", text, "", each.log_probability / max(1, count), len(each.tokens), 0.0)
            for text, count, each in zip(
                texts, _characters(model, texts), _score_texts(model, texts), strict=True
            )
        )
        return ReportRows(SCALE, rows, tuple(language_scores(model, texts)))

    def cells(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> list[Cell]:
        """The texts themselves, which the model is seen to read."""
        return [row.target for row in held if row.is_short(row.target, row.target_values)]

    def explain(
        self, model: TextPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedText:
        """A text, while the model reads it: the input, or one that it has written itself."""
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
    """What each line of a text costs, its tokens and its characters."""

    log_probabilities: NDArray[np.float64]
    tokens: NDArray[np.int64]
    characters: NDArray[np.int64]

    def scores(self) -> list[Score]:
        """Perplexity, and what a character costs."""
        return [
            perplexity(self.log_probabilities, self.tokens),
            bits_per_character(self.log_probabilities, self.characters),
            nats_per_character(self.log_probabilities, self.characters),
        ]


def language_scores(model: TextPredictor, texts: Sequence[str]) -> list[Score]:
    """Perplexity per token, bits and nats per character; the end of a line is a character."""
    scored = _score_texts(model, texts)
    found = np.array([each.log_probability for each in scored])
    tokens = np.array([len(each.tokens) for each in scored])
    return _Lines(found, tokens, _characters(model, texts)).scores()


def ngram_scores(model: TextPredictor, texts: Sequence[str], place: Path) -> dict[str, Score]:
    """The same of n-grams counted in what the model has learnt from, which lies at a place.

    RunError where it is gone.
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
    """Of each text, with the end of each line, which is in the lines of a stream already."""
    return np.array([len(text) + (not model.is_stream) for text in texts])


def explain_text(
    model: TextPredictor, cell: Cell, output: Output | str | None = None
) -> ExplainedText:
    """An input with the output that a model of text gives for it, or with this one."""
    task = LANGUAGE_MODEL if model.is_language_model else TEXT
    return task.explain(model, cell, output)
