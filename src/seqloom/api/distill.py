"""Sequence-level distillation: a small student learns from what its teachers output.

Kim and Rush 2016, Sequence-Level Knowledge Distillation: the targets of the training rows are
replaced by the teachers' own outputs, which are easier to learn than people's.

    RUN/distilled/  teachers.json    whose outputs these are, and how they were searched
                    pairs.jsonl      a source and an output a line, in the order of the sources

Outputs are appended group by group, so a distillation that was stopped goes on where it was.
"""

import hashlib
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.api.training_result import TrainingResult
from seqloom.config import merge
from seqloom.data import Corpus, read_lines
from seqloom.errors import ConfigError, RunError
from seqloom.metrics import Score
from seqloom.prediction import Predictor
from seqloom.runs.contents import best_step
from seqloom.runs.progress import SilentObserver, TrainingObserver
from seqloom.search import Search
from seqloom.store import RunDirectory, durable
from seqloom.tasks import task_of
from seqloom.tasks.report_rows import corpus_rows

__all__ = ["DistillationOptions", "DistillationResult", "DistilledModel", "distill"]

FOLDER, TEACHERS, PAIRS = "distilled", "teachers.json", "pairs.jsonl"
GROUP = 256  # sources whose outputs are saved at once
HELD_OUT = 1_000  # rows that teacher and student are compared on
SINGLE = 20  # inputs that are timed one at a time


SourceWithTargets = tuple[str, tuple[str, ...]]
"""A source, and the true targets that it is to be learnt with."""


@dataclass(frozen=True)
class DistillationOptions:
    """What the student learns from."""

    more: Path | None = None  # a text file of further sources, one a line
    search: Search | None = None  # of the teachers; None for their own
    n_best: int = 1  # outputs of the teachers to learn for each source
    references: bool = False  # whether to learn the true targets too
    model: str = "fast"  # the student's preset


@dataclass(frozen=True)
class DistilledModel:
    """One model on the held-out rows: how good it is, how fast, and how large."""

    name: str
    scores: tuple[Score, ...]
    rows_per_second: float
    milliseconds: float  # the median time of one input alone
    megabytes: float  # of its weights

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "scores": {each.name: each.value for each in self.scores}}


@dataclass(frozen=True)
class DistillationResult:
    """A student, and how it compares with its teachers."""

    training: TrainingResult
    teacher: DistilledModel
    student: DistilledModel

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": str(self.training.run),
            "teacher": self.teacher.as_dict(),
            "student": self.student.as_dict(),
        }


def distill(
    teachers: Sequence[str | Path],
    run: str | Path,
    *,
    settings: DistillationOptions | None = None,
    options: Mapping[str, Any] | None = None,
    watch: TrainingObserver | None = None,
) -> DistillationResult:
    """Train a student on the outputs of one teacher, or of several as an ensemble.

    The sources are those that the first teacher was trained on and those of `settings.more`;
    `options` are the student's own, as for `train`. The same call resumes what was stopped.
    """
    settings, watch = settings or DistillationOptions(), watch or SilentObserver()
    teacher, first = load(*teachers), RunDirectory(Path(teachers[0]))
    if teacher.is_language_model or teacher.as_forecaster() is not None:
        raise ConfigError(
            "a student learns outputs for sources, and this teacher has no source column",
            place=str(teachers[0]),
            remedy="distill a model that reads a source",
        )
    if teacher.source.reads_files or teacher.config.data.columns:
        raise ConfigError(
            "a student learns from texts in one column, and this teacher reads "
            f"{teacher.source.describe()}",
            place=str(teachers[0]),
            remedy="distill a model that reads a text",
        )
    pairs = _write_pairs(teacher, teachers, RunDirectory(Path(run)), settings, watch)
    held_out = [(row.source, row.target) for row in _rows(first, teacher, "valid")]
    own = merge(_column_options(teacher), options or {})
    result = train(pairs, run, valid=held_out, model=settings.model, options=own, watch=watch)
    measured = held_out[:HELD_OUT]
    return DistillationResult(
        result,
        _measure("teacher", teacher, teachers, measured),
        _measure("student", load(run), [run], measured),
    )


def _rows(directory: RunDirectory, model: Predictor, part: str) -> Iterator[Any]:
    """The rows that a run learnt from or held out, group by group."""
    corpus = Corpus.open(directory.cache_directory / part)
    for start in range(0, len(corpus), GROUP):
        yield from corpus_rows(corpus, model, np.arange(start, min(start + GROUP, len(corpus))))


def _column_options(teacher: Predictor) -> dict[str, Any]:
    """The columns of the pairs are what the teacher reads and writes."""
    tables = teacher.config.model_dump(mode="json")
    data = {
        "source": "source",
        "target": "target",
        "max_source": tables["data"]["max_source"],
        "recased": 0.0,  # the teacher's rows hold copies in capitals already
    }
    greedy = {"search": {"method": {"kind": "greedy"}}} if teacher.as_text_predictor() else {}
    return {"data": data, "source": tables["source"], "target": tables["target"], **greedy}


def _write_pairs(
    teacher: Predictor,
    teachers: Sequence[str | Path],
    directory: RunDirectory,
    settings: DistillationOptions,
    watch: TrainingObserver,
) -> Path:
    """The teachers' outputs for every source; those that are there already are kept."""
    folder = directory.path / FOLDER
    pairs = folder / PAIRS
    _claim(folder, _identity(teachers, settings), directory.path)
    done = _complete_sources(pairs)
    sources = _sources(RunDirectory(Path(teachers[0])), teacher, settings)
    waiting = islice(sources, done, None)
    if done:
        watch.on_message(f"the outputs for {done:,} sources are there already")
    while group := list(islice(waiting, GROUP)):
        lines = _output_lines(teacher, group, settings, done)
        with durable.run_errors(pairs):
            durable.append(pairs, "".join(lines).encode())
        done += len(group)
        watch.on_message(f"outputs of the teacher: {done:,} sources")
    return pairs


def _sources(
    first: RunDirectory, teacher: Predictor, settings: DistillationOptions
) -> Iterator[SourceWithTargets]:
    """Each source once, with the true targets that it is to be learnt with."""
    targets: dict[str, list[str]] = {}
    for row in _rows(first, teacher, "train"):
        targets.setdefault(row.source, []).append(row.target)
    for source, known in targets.items():
        yield source, tuple(dict.fromkeys(known)) if settings.references else ()
    if settings.more is not None:
        for line in read_lines(settings.more, max_line=teacher.config.data.max_line):
            if line.strip() and line not in targets:
                yield line, ()


def _output_lines(
    teacher: Predictor,
    group: Sequence[SourceWithTargets],
    settings: DistillationOptions,
    first: int,
) -> list[str]:
    """The pairs of a group of sources, the first of which has this number, as lines of JSON.

    A blank output teaches nothing and is left out.
    """
    outputs = teacher.predict(
        [source for source, _ in group], search=settings.search, n_best=settings.n_best
    )
    lines = []
    for number, (source, known), output in zip(count(first), group, outputs, strict=False):
        texts = [each.text for each in output.n_best] or [output.text]
        for target in dict.fromkeys(text for text in (*texts, *known) if text.strip()):
            pair = {"source": source, "target": target, "number": number}
            lines.append(json.dumps(pair, ensure_ascii=False) + "\n")
    return lines


def _identity(teachers: Sequence[str | Path], settings: DistillationOptions) -> bytes:
    """Whose outputs these are: the teachers' steps, the search, and the further sources."""
    steps = [best_step(RunDirectory(Path(each))) for each in teachers]
    return json.dumps(
        {
            "teachers": [_hash(step.path / "manifest.json") for step in steps],
            "search": repr(settings.search),
            "n_best": settings.n_best,
            "references": settings.references,
            "more": "" if settings.more is None else _hash(settings.more),
        },
        indent=1,
    ).encode()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _claim(folder: Path, identity: bytes, run: Path) -> None:
    """Begin a folder of outputs, or make sure that the one there is of the same teachers."""
    with durable.run_errors(folder):
        if not (folder / TEACHERS).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            durable.write_file(folder / TEACHERS, identity)
        elif (folder / TEACHERS).read_bytes() != identity:
            raise RunError(
                "was begun with other teachers, another search or other sources",
                place=str(run),
                remedy="name another run, or give the same command again",
            )


def _complete_sources(pairs: Path) -> int:
    """How many sources have all their outputs; a source that a kill may have cut is dropped."""
    if not pairs.is_file():
        return 0
    with durable.run_errors(pairs), pairs.open("r+b") as file:
        end = last = 0
        number = -1
        for line in file:
            if not line.endswith(b"\n"):
                break
            found = _source_number(line, pairs)
            if found != number:
                last, number = end, found
            end += len(line)
        file.truncate(last)
    return max(number, 0)


def _source_number(line: bytes, pairs: Path) -> int:
    """The number of the source that a line of outputs belongs to."""
    try:
        return int(json.loads(line)["number"])
    except (ValueError, KeyError, TypeError):
        raise RunError(
            "a line is damaged",
            place=str(pairs),
            remedy="remove the file to have all outputs computed again",
        ) from None


def _measure(
    name: str, model: Predictor, runs: Sequence[str | Path], rows: Sequence[tuple[str, str]]
) -> DistilledModel:
    """A model on held-out rows, all at once and one at a time."""
    sources = [source for source, _ in rows]
    model.predict(sources[:SINGLE])  # whatever is made when first used
    began = time.perf_counter()
    outputs = model.predict(sources)
    seconds = time.perf_counter() - began
    scores = task_of(model.config).metrics(
        [output.text for output in outputs], [target for _, target in rows]
    )
    alone = []
    for source in sources[:SINGLE]:
        began = time.perf_counter()
        model.predict([source])
        alone.append(time.perf_counter() - began)
    steps = [best_step(RunDirectory(Path(run))) for run in runs]
    size = sum((step.path / "model.safetensors").stat().st_size for step in steps)
    median = statistics.median(alone)
    return DistilledModel(name, tuple(scores), len(rows) / seconds, 1e3 * median, size / 1e6)
