"""A report of a run: what its directory holds, and what its model makes of held-out rows."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from seqloom.config import flatten
from seqloom.data import Corpus, Data, Report
from seqloom.errors import ConfigError, RunError
from seqloom.fields import TextField
from seqloom.insight import AttentionMap, Curves, Judged, RunReport, attention_of
from seqloom.insight.picture import write_bytes
from seqloom.metrics import perplexity, written_scores
from seqloom.prediction import Model
from seqloom.run.parts import part_lines
from seqloom.run.progress import Progress
from seqloom.run.saved import best_step
from seqloom.run.use import data_rows, load_writer
from seqloom.store import RunDirectory
from seqloom.version import __version__

__all__ = ["report", "write_report"]

ROWS = 500  # that are written out
LOOKS = 3


def write_report(run: str | Path, to: Path, *, data: Data | None = None) -> RunReport:
    """Make the report and write it as one HTML page."""
    made = report(run, data=data)
    write_bytes(to, made.page().encode())
    return made


def report(run: str | Path, *, data: Data | None = None, most: int = ROWS) -> RunReport:
    """What is known of a run whose target is text, with results on data it has not seen.

    Without data these are the rows that training held out, as far as the run still has them.
    """
    directory = RunDirectory(Path(run))
    model = load_writer(run)
    if model.alone:
        raise ConfigError(
            f"{run} has no source, so there are no outputs to report on: use evaluate and describe"
        )
    step = best_step(directory)
    progress = Progress.from_dict((directory.latest() or step).progress())
    pairs = _held_out(directory, model) if data is None else _given(model, data)
    chosen = [pairs[i] for i in np.linspace(0, len(pairs) - 1, min(most, len(pairs))).astype(int)]
    judged = _judged(model, chosen)
    scored = model.score(chosen)
    scores = (
        *written_scores([each.output for each in judged], [each.reference for each in judged]),
        perplexity([each.log_probability for each in scored], [len(s.tokens) for s in scored]),
    )
    return RunReport(
        run=str(directory.path),
        facts=_facts(directory, model, progress, step.number),
        parts=tuple(_parts(part_lines(model.network))),
        curves=Curves.of(directory.events()),
        best=step.number,
        scores=scores,
        judged=tuple(judged),
        attention=tuple(_looks(model, judged)),
        options=tuple((name, str(value)) for name, value in flatten(model.config).items()),
        repeat=_repeat(directory, data),
    )


def _parts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """A part's number of parameters and its name, from its line."""
    for line in lines:
        count, _, name = line.strip().partition("  ")
        yield count, name


def _held_out(directory: RunDirectory, model: Model) -> list[tuple[str, str]]:
    """The rows that training held out, as texts."""
    try:
        corpus = Corpus.open(directory.cache_directory / "valid")
    except RunError:
        raise RunError(
            f"{directory.path}: its held-out rows are no longer there; name some with --data"
        ) from None
    batch = corpus.batch(np.arange(len(corpus)))
    return [
        (model.source.cell(source[:read]), model.target.cell(target[:written]))
        for source, read, target, written in zip(
            batch.source, batch.source_lengths, batch.target, batch.target_lengths, strict=True
        )
    ]


def _given(model: Model, data: Data) -> list[tuple[str, str]]:
    return [(row.source, row.target) for row in data_rows(model, data, None, Report())]


def _judged(model: Model, pairs: list[tuple[str, str]]) -> list[Judged]:
    """Each row with the model's output and its own chrF."""
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    return [
        Judged(
            source,
            reference,
            output.text,
            float(chrf.sentence_score(output.text, [reference]).score),
            len(output.source),
            output.score,
        )
        for (source, reference), output in zip(
            pairs, model.predict(source for source, _ in pairs), strict=True
        )
    ]


def _looks(model: Model, judged: list[Judged]) -> Iterator[AttentionMap]:
    """The attention of rows spread over all, where the model has any."""
    if not isinstance(model.source, TextField):
        return
    rows = [each for each in judged if each.source.strip()]
    for place in np.linspace(0, len(rows) - 1, min(LOOKS, len(rows))).astype(int):
        found = attention_of(model, rows[place].source)
        if not any(layer.of == "cross" for layer in found.layers):
            return
        yield found.chosen()


def _facts(
    directory: RunDirectory, model: Model, progress: Progress, step: int
) -> tuple[tuple[str, str], ...]:
    """What was learnt from, how, and for how long."""
    facts = [
        ("source", model.source.describe()),
        ("target", model.target.describe()),
        ("parameters", f"{sum(each.numel() for each in model.network.parameters()):,}"),
        ("updates", f"{progress.step:,}; step {step:,} did best and is used"),
        ("time", f"{progress.seconds / 60:.1f} minutes"),
    ]
    for side, words in (("train", "rows learnt from"), ("valid", "rows held out")):
        try:
            facts.append((words, f"{len(Corpus.open(directory.cache_directory / side)):,}"))
        except RunError:
            continue
    facts += [(name, str(value)) for name, value in progress.surroundings.items()]
    facts += [("begun from", progress.origin)] if progress.origin else []
    return (*facts, ("seqloom", __version__))


def _repeat(directory: RunDirectory, data: Data | None) -> tuple[str, ...]:
    """Commands that lead here again; the run does not know where its data lies."""
    run = directory.path
    tested = data if isinstance(data, str | Path) else "TEST"
    return (
        f"seqloom train DATA --run NEW-RUN --config {run}/config.toml",
        f"seqloom evaluate {run} {tested}",
        f"seqloom report {run}" + (f" --data {tested}" if data is not None else ""),
    )
