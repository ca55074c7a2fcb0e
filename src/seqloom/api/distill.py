"""Sequence-level distillation: a small student learns from its teachers' outputs.

Kim and Rush 2016, Sequence-Level Knowledge Distillation: the targets of the training rows are
replaced by the teachers' own outputs, which are easier to learn than human ones.

Back-translation uses the same steps: further texts become targets of the new run, and a run of the
reverse direction gives their sources (Sennrich, Haddow and Birch 2016, Improving Neural Machine
Translation Models with Monolingual Data).

    RUN/distilled/  teachers.json    whose outputs these are, and how they were searched
                    pairs.jsonl      a source and an output a line, in the order of the sources

Outputs are appended group by group, so an interrupted distillation resumes where it stopped.
"""

import hashlib
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

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
from seqloom.runs.teaching import claim_folder
from seqloom.search import Search
from seqloom.store import RunDirectory, durable
from seqloom.tasks import task_of
from seqloom.tasks.report_rows import corpus_rows

__all__ = ["DistillationOptions", "DistillationResult", "DistilledModel", "distill"]

FOLDER, PAIRS = "distilled", "pairs.jsonl"
GROUP = 256  # sources decoded and saved together
HELD_OUT = 1_000  # rows on which teacher and student are compared
SINGLE = 20  # inputs timed one at a time


class TeacherInput(NamedTuple):
    """A source text for the teachers, and the true outputs to train on besides theirs."""

    text: str
    known: tuple[str, ...] = ()
    asked: bool = True  # whether the student trains on the teachers' output


@dataclass(frozen=True)
class DistillationOptions:
    """Options of a distillation."""

    more: Path | None = None  # a text file of further sources, one a line
    search: Search | None = None  # of the teachers; None for each run's own
    n_best: int = 1  # teacher outputs per source
    references: bool = False  # whether to train on the true targets too
    token_level: bool = False  # whether to match the teachers' distribution at each position
    back: bool = False  # whether to train the reverse direction (back-translation)
    model: str = ""  # the student's preset: "fast" unless given, or "auto" for the other direction

    @property
    def preset(self) -> str:
        """The student's preset."""
        return self.model or ("auto" if self.back else "fast")


@dataclass(frozen=True)
class DistilledModel:
    """Quality, speed and size of one model on the held-out rows."""

    name: str
    scores: tuple[Score, ...]
    rows_per_second: float
    milliseconds: float  # median latency of a single input
    megabytes: float  # size of its weights

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "scores": {each.name: each.value for each in self.scores}}


@dataclass(frozen=True)
class DistillationResult:
    """The trained student, compared with its teachers."""

    training: TrainingResult
    teacher: DistilledModel | None  # None for the reverse direction
    student: DistilledModel

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": str(self.training.run),
            "teacher": None if self.teacher is None else self.teacher.as_dict(),
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

    The sources are the first teacher's training rows and those of `settings.more`; `options` are
    the student's, as for `train`. The same call resumes an interrupted distillation.
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
    if settings.back:
        _check_back(teacher, teachers, settings)
    pairs = _write_pairs(teacher, teachers, RunDirectory(Path(run)), settings, watch)
    held_out = [(row.source, row.target) for row in _rows(first, teacher, "valid")]
    own = _column_options(teacher)
    if settings.back:
        held_out = [(target, source) for source, target in held_out]
        own = {"data": {"source": "source", "target": "target", "recased": 0.0}}
    if settings.token_level:
        own = merge(own, _teaching_options(teacher, teachers))
    own = merge(own, options or {})
    result = train(pairs, run, valid=held_out, model=settings.preset, options=own, watch=watch)
    measured = held_out[:HELD_OUT]
    asked = None if settings.back else _measure("teacher", teacher, teachers, measured)
    return DistillationResult(result, asked, _measure("student", load(run), [run], measured))


def _check_back(
    teacher: Predictor, teachers: Sequence[str | Path], settings: DistillationOptions
) -> None:
    """ConfigError if the reverse direction cannot be trained."""
    if teacher.as_text_predictor() is None or not teacher.source.is_text:
        raise ConfigError(
            "back-translation needs a run whose source and target are both text",
            place=str(teachers[0]),
            remedy="name a run from text to text",
        )
    if settings.token_level:
        raise ConfigError(
            "back-translation has no teacher distribution to match",
            remedy="leave token_level or back out",
        )


def _rows(directory: RunDirectory, model: Predictor, part: str) -> Iterator[Any]:
    """The training or held-out rows of a run, in groups."""
    corpus = Corpus.open(directory.cache_directory / part)
    for start in range(0, len(corpus), GROUP):
        yield from corpus_rows(corpus, model, np.arange(start, min(start + GROUP, len(corpus))))


def _column_options(teacher: Predictor) -> dict[str, Any]:
    """Column options of the pairs file: those of the teacher's source and target."""
    tables = teacher.config.model_dump(mode="json")
    data = {
        "source": "source",
        "target": "target",
        "max_source": tables["data"]["max_source"],
        "recased": 0.0,  # the teacher's rows already include recased copies
    }
    greedy = {"search": {"method": {"kind": "greedy"}}} if teacher.as_text_predictor() else {}
    return {"data": data, "source": tables["source"], "target": tables["target"], **greedy}


def _teaching_options(teacher: Predictor, teachers: Sequence[str | Path]) -> dict[str, Any]:
    """Options for token-level distillation over the first teacher's vocabulary."""
    shared = teacher.config.model.share_vocabulary
    return {
        "model": {"share_vocabulary": shared},
        "training": {"teaching": {"runs": [str(each) for each in teachers]}},
    }


def _write_pairs(
    teacher: Predictor,
    teachers: Sequence[str | Path],
    directory: RunDirectory,
    settings: DistillationOptions,
    watch: TrainingObserver,
) -> Path:
    """Write the teachers' outputs for every source, keeping those already written."""
    folder = directory.path / FOLDER
    pairs = folder / PAIRS
    other = "other teachers, another search or other sources"
    claim_folder(folder, _identity(teachers, settings), directory.path, other=other)
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
) -> Iterator[TeacherInput]:
    """Each distinct source once, with the true targets to train on."""
    targets: dict[str, list[str]] = {}
    for row in _rows(first, teacher, "train"):
        targets.setdefault(row.source, []).append(row.target)
    for source, known in targets.items():
        true = tuple(dict.fromkeys(known)) if settings.references or settings.back else ()
        yield TeacherInput(source, true, asked=not settings.back)
    if settings.more is not None:
        for line in read_lines(settings.more, max_line=teacher.config.data.max_line):
            if line.strip() and line not in targets:
                yield TeacherInput(line)


def _output_lines(
    teacher: Predictor,
    group: Sequence[TeacherInput],
    settings: DistillationOptions,
    first: int,
) -> list[str]:
    """The pairs of a group of sources as JSON lines; `first` is the number of the first source.

    A blank output teaches nothing and is left out.
    """
    asked = [each.text for each in group if each.asked]
    outputs = iter(teacher.predict(asked, search=settings.search, n_best=settings.n_best))
    lines = []
    for number, given in enumerate(group, first):
        output = next(outputs) if given.asked else None
        texts = [] if output is None else [each.text for each in output.n_best] or [output.text]
        for found in dict.fromkeys(text for text in (*texts, *given.known) if text.strip()):
            source, target = (found, given.text) if settings.back else (given.text, found)
            pair = {"source": source, "target": target, "number": number}
            lines.append(json.dumps(pair, ensure_ascii=False) + "\n")
    return lines


def _identity(teachers: Sequence[str | Path], settings: DistillationOptions) -> bytes:
    """What the outputs depend on: the teachers' steps, the search, and the further sources."""
    steps = [best_step(RunDirectory(Path(each))) for each in teachers]
    return json.dumps(
        {
            "teachers": [_hash(step.path / "manifest.json") for step in steps],
            "search": repr(settings.search),
            "n_best": settings.n_best,
            "references": settings.references,
            **({"back": True} if settings.back else {}),
            "more": "" if settings.more is None else _hash(settings.more),
        },
        indent=1,
    ).encode()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete_sources(pairs: Path) -> int:
    """Count the sources with all their outputs; drop one that a kill may have cut short."""
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
    """The source number of a line of outputs."""
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
    """Measure a model on held-out rows, in batches and one at a time."""
    sources = [source for source, _ in rows]
    model.predict(sources[:SINGLE])  # warm up: caches are filled at first use
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
