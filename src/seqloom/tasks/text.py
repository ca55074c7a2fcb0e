"""Text written from a source: translation, transliteration, captions, replies, and so on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from seqloom.config import Config
from seqloom.config.searches import AUTO
from seqloom.data import Corpus, Data, Report, even_indices
from seqloom.drawing.views import View
from seqloom.explanations.attention import Attentions, attention_from_trace
from seqloom.explanations.explained_output import Cell, ExplainedText
from seqloom.explanations.media import group_features, is_media
from seqloom.explanations.tracing import Trace
from seqloom.fields import END, UNK, Field
from seqloom.metrics import Score
from seqloom.model import Network
from seqloom.prediction import Output, TextPredictor
from seqloom.prediction.configured_search import search_from_config
from seqloom.prediction.warnings import WarningCounts
from seqloom.runs.held_out import (
    HeldOut,
    HeldOutOutputs,
    Measurement,
    exposure_gap,
    symbol_guess_loss,
)
from seqloom.runs.prepare import PreparedData
from seqloom.runs.progress import Progress, Validation, ValidationSample
from seqloom.search import Greedy, Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Evaluation, with_baselines
from seqloom.tasks.outputs import baseline_scores, encode_sources, perplexity_score, score_groups
from seqloom.tasks.report_rows import CHRF, HeldOutRow, ReportRows, output_rows, source_length
from seqloom.tasks.target_checks import TEXT_CHECKS
from seqloom.tasks.task import TASKS, Task
from seqloom.tasks.views import attention_views, explanation_views

__all__ = ["TEXT", "TextTask", "text_predictor"]

SAMPLED_ROWS = 500  # rows that are written out at a validation
WHOLE_WORDS = {"word", "symbol"}  # units whose unknown tokens can be copied
VERBS = {
    "text": "Translate",
    "turns": "Send",
    "picture": "Describe",
    "video": "Describe",
    "sound": "Transcribe",
}
COMMANDS = {"turns": "seqloom chat"}  # for sources that are not read a line at a time


def text_predictor(
    config: Config, source: Any, target: Any, network: Any, *, run: RunDirectory | None
) -> TextPredictor:
    """The network as a writer."""
    rows = None if run is None else run.cache_directory / "train"
    return TextPredictor(config, source, target, network, rows)


class HeldOutText(HeldOutOutputs[TextPredictor]):
    """Measures weights by the texts that they write for held-out rows."""

    def __init__(
        self, prepared: PreparedData, model: TextPredictor, metrics: Callable[..., list[Score]]
    ) -> None:
        super().__init__(prepared, model, metrics, most=SAMPLED_ROWS)
        self._read = prepared.read_held_out

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        """Held-out rows as they are written, if words of their targets are unknown and could be
        copied; none otherwise."""
        units = {
            getattr(each.config, "unit", "") for each in (self.model.source, self.model.target)
        }
        if self.model.config.search.copy_unknown != AUTO or not units <= WHOLE_WORDS:
            return []
        rows = [(row.source, row.target) for row in self._read()]
        rows = [rows[place] for place in even_indices(len(rows), SAMPLED_ROWS)]
        unknown = any(UNK in self.model.target.encode(target) for _, target in rows)
        return rows if unknown else []

    def _copying_helps(self) -> bool:
        """Whether copying unknown words from the source improves the texts."""
        if not self._texts:
            return False
        sources, references = zip(*self._texts, strict=True)
        copying = replace(self.model, copying_helps=True)
        outputs = list(copying.stream_cells(sources, search=Greedy()))
        changed = [n for n, each in enumerate(outputs) if any(t.copied for t in each.tokens)]
        if not changed:
            return False
        found = [each.text for each in outputs]
        plain = dict(enumerate(found))
        without = self.model.stream_cells([sources[n] for n in changed], search=Greedy())
        plain |= {n: each.text for n, each in zip(changed, without, strict=True)}
        better, usual = (
            self._metrics(texts, references)[0].objective for texts in (found, list(plain.values()))
        )
        return better > usual

    def validation(
        self, progress: Progress, measured: Measurement, samples: Sequence[ValidationSample]
    ) -> Validation:
        """The results of the newest step, with the exposure gap."""
        found = super().validation(progress, measured, samples)
        gap, copies = exposure_gap(self, measured.loss), self._copying_helps()
        return replace(found, gap=gap, copies=copies)


class TextTask(Task[TextPredictor]):
    """A target of text, with a source."""

    kind = "text"
    decodes = True
    more_outputs = "--n-best 3"
    data_checks = TEXT_CHECKS

    def verb_of(self, config: Config) -> str:
        """What the model does, by the kind of its source."""
        return VERBS.get(config.source.kind, "Write")

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> TextPredictor:
        """The network as a writer."""
        return text_predictor(config, source, target, network, run=run)

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[TextPredictor]:
        """The metrics of texts written for some held-out rows."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutText(prepared, model, self.metrics)

    def guess_loss(self, train: Corpus, valid: Corpus, target: Field) -> float:
        """The loss of guessing by how common each token is."""
        return symbol_guess_loss(train, valid, target.items.count)

    def describe(self, config: Config) -> str:
        """What a model does."""
        return "a model of text writes"

    def check_evaluation(
        self, config: Config, search: Search | None, *, lowercase: bool = False
    ) -> None:
        """Any search may be evaluated, with or without capitals."""

    def evaluate(
        self,
        model: TextPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """The metrics of what is written, the perplexity of the references, and what baselines
        reach."""
        report = Report()
        rows = [(row.source, row.target) for row in self.data_rows(model, data, options, report)]
        references = [target for _, target in rows]
        found = list(model.stream_cells((source for source, _ in rows), search=search))
        outputs = [output.text for output in found]
        scores = self.metrics(outputs, references, lowercase=lowercase)
        scored, warnings = list(score_groups(model, rows)), WarningCounts.of(found)
        warnings.add_unscored(len(rows) - len(scored))
        if scored:
            scores.append(perplexity_score(scored))
        return with_baselines(
            Evaluation(report, tuple(scores), warnings=warnings),
            model,
            lambda place: baseline_scores(self, model, rows, place, lowercase=lowercase),
        )

    def report_rows(self, model: TextPredictor, held: Sequence[HeldOutRow]) -> ReportRows:
        """Each row with what is written for it, judged by chrF."""
        from sacrebleu.metrics.chrf import CHRF as ChrF

        encoded, references = encode_sources(model, held), [row.target for row in held]
        search = search_from_config(model.config.search, 1)
        outputs = model.predict_rows([each.values for each in encoded], search=search)
        scores = self.metrics([each.text for each in outputs], references)
        scores.append(perplexity_score(model.score_encoded(encoded, references)))
        counted, length = source_length(model)
        if not counted:
            counted, length = "tokens of the reference", lambda row: len(row.target_values)
        chrf = ChrF()

        def quality(_: int, row: HeldOutRow, output: Output) -> float:
            return float(chrf.sentence_score(output.text, [row.target]).score)

        rows = output_rows(model, held, outputs, quality, length=length)
        return ReportRows(CHRF._replace(length=counted), rows, tuple(scores))

    def views(self, model: TextPredictor, cells: Sequence[Cell]) -> tuple[str, tuple[View, ...]]:
        """Attention, over the picture, sound or video itself where the source is one."""

        def media_views(traces: Sequence[Trace]) -> tuple[View, ...]:
            kinds = Attentions.from_trace(traces[0]).kinds
            if not is_media(model.source) or kinds[0] != "cross":
                return attention_views(traces)
            return tuple(attention_from_trace(each) for each in traces)

        return explanation_views(model, cells, self.explain, views=media_views)

    def explain(
        self, model: TextPredictor, cell: Cell, output: Output | str | None = None
    ) -> ExplainedText:
        """An input with the output that the model gives for it, or with this one."""
        values = model.encode_cell(cell)
        if output is None:
            search = search_from_config(model.config.search, 1)
            (output,) = model.predict_rows([values], search=search)
        if isinstance(output, str):
            ids = [*model.target.encode(output).tolist(), END]
        else:
            ids = list(output.ids)
        names = model.item_names(cell, values), tuple(model.target.tokens(ids))
        return ExplainedText(*names, values, group_features(model, values), tuple(ids))

    def example_command(self, config: Config, run: Path, data: str) -> str:
        """The command that uses a finished run: a conversation, where turns are read."""
        command = COMMANDS.get(config.source.kind)
        return f"{command} {run}" if command else super().example_command(config, run, data)


TEXT = TASKS.part("text")(TextTask())
