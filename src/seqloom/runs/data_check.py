"""What is in the data, what training would make of it, and how long that takes here."""

import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel

from seqloom.config import Config, merge
from seqloom.data import (
    Columns,
    Data,
    Report,
    Survey,
    describe_data,
    even_indices,
    overlap,
    read_rows,
    usable_rows,
)
from seqloom.errors import DataError
from seqloom.fields import Field, as_text_field
from seqloom.model import Source, build
from seqloom.randomness import key
from seqloom.remedies import Remedy, Setting, Wording
from seqloom.runs.findings import (
    DataCheck,
    count_of,
    describe_time,
    run_checks,
    them_or_it,
    verdict,
)
from seqloom.runs.prepare import learn_fields
from seqloom.runs.processes.workers import worker_count
from seqloom.runs.request import ConfigCheck, TrainingRequest
from seqloom.training import Example, Optimizer, Portion, fit

__all__ = ["check_rows", "peak_memory", "training_estimate"]

TIMED_UPDATES = 6  # updates that are timed, ...
WARM_UPDATES = 2  # ... of which the first do not count
VALIDATION_COST = 2 / 3  # of an update, for as many rows: read twice, without a way back


def training_estimate(
    config: Config, fields: tuple[Field, Field], lengths: tuple[int, int], *, held_out: int
) -> str:
    """Time and memory in a sentence, for rows of these lengths and so many that are held out; the
    budget of time is the most."""
    training = config.training
    update = _seconds_per_update(config, fields, lengths)
    validation = VALIDATION_COST * update * held_out / _batch_rows(config, lengths)
    minutes = training.updates * (update + validation / training.validate_every) / 60
    minutes = min(minutes, training.minutes or minutes)
    workers, peak = worker_count(training), peak_memory()
    memory = "" if peak is None else f" and {peak * workers:.1f} GiB of memory"
    return (
        f"training would take {describe_time(minutes)} here{memory}, "
        f"in {workers} process{'es' * (workers > 1)}"
    )


def peak_memory() -> float | None:
    """The most memory that this process has held, in GiB; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None  # Windows
    if sys.platform == "win32":  # which tells type checkers the same
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)  # macOS tells bytes, Linux KiB


def _batch_rows(config: Config, lengths: tuple[int, int]) -> int:
    """About how many rows a batch has."""
    rows = max(1, config.training.batch_tokens // max(lengths))
    return min(rows, config.training.batch_rows or rows)


def _seconds_per_update(
    config: Config, fields: tuple[Field, Field], lengths: tuple[int, int]
) -> float:
    """The time of one update on made-up rows of the mean length; workers share the positions."""
    source, target = lengths
    rows = _batch_rows(config, lengths)
    random = np.random.default_rng(key(config.seed, "made-up rows"))
    tokens, labels = (
        torch.from_numpy(field.items.draw(rows, length, random))
        for field, length in zip(fields, lengths, strict=True)
    )
    with torch.random.fork_rng():
        network = build(config.model, source=fields[0].items, target=fields[1].items)
        batch = Example(Source(tokens, torch.full((rows,), source)), labels)
        work = Portion([batch] * config.training.accumulate, rows * target, lambda: "made-up rows")
        updates = fit(Optimizer(network, config.training), lambda _: work, seed=config.seed)
        timed = [update.seconds for update, _ in zip(updates, range(TIMED_UPDATES), strict=False)]
        return float(np.median(timed[min(WARM_UPDATES, len(timed) - 1) :]))


MAX_MEASURED_FILES = 300  # files that are read for their lengths


def check_rows(
    request: TrainingRequest,
    *,
    check: ConfigCheck,
    data_checks: Sequence[DataCheck],
    wording: Wording,
) -> Iterator[str]:
    """Findings as lines of text, in the order they become known, and the verdict.

    DataError at the end where training would stop at a bad row; here all of them are counted first.
    """
    lenient = replace(request, options=merge(request.options, {"data": {"skip_bad": True}}))
    found = lenient.survey()
    yield from found.lines()
    lost = found.report.defect_count
    other: Survey | None = None
    if request.valid is not None:
        other = replace(lenient, data=request.valid).survey()
        yield from _validation_lines(found, other)
        lost += other.report.defect_count
    config = request.plan(found.facts)
    check(config)
    yield ""
    yield from _choices(config)
    fields = learn_fields(config, request.data, found)
    held_out = _count_held_out(config, found) if other is None else other.facts.rows
    findings = run_checks(data_checks, request.data, config, found, other)
    lengths = yield from _mean_lengths(config, found, fields)
    del found, other  # whose memory the model is given
    yield training_estimate(config, fields, lengths, held_out=held_out)
    for unfit in _unusable_rows(request, config, fields):
        yield from unfit.lines()[2:]
        yield from filter(None, [unfit.unseen_line()])
        lost += unfit.defect_count
    lost = 0 if config.data.skip_bad else lost
    yield from ("", *verdict(findings, unusable=lost, wording=wording))
    if lost:
        raise DataError(
            f"{count_of(lost, 'row')} cannot be used",
            place=describe_data(request.data),
            remedy=Remedy(
                f"mend {them_or_it(lost)}, or pass {{}} to train without {them_or_it(lost)}",
                Setting("data.skip_bad", True),
            ),
        )


def _count_held_out(config: Config, found: Survey) -> int:
    """About how many rows training would hold out."""
    return min(config.data.valid_rows, round(config.data.valid_share * found.facts.rows))


def _validation_lines(found: Survey, other: Survey) -> Iterator[str]:
    shared = overlap(found, other)
    yield from (f"held-out {line}" for line in other.report.lines())
    yield f"held-out rows that are also in the training data: {shared.rows:,}"
    yield f"held-out sources that are also in the training data: {shared.sources:,}"


def _choices(config: Config) -> Iterator[str]:
    parts = ", ".join(_part(name, getattr(config.model, name)) for name in ("encoder", "decoder"))
    yield (
        f"model: {parts}; "
        f"{config.training.updates:,} updates of {config.training.batch_tokens:,} positions"
    )


def _part(name: str, part: BaseModel) -> str:
    """A part of the model in a few words, such as `transformer encoder of 3 × 192`."""
    options = part.model_dump()
    size = f" of {options['layers']} × {options['width']}" if "layers" in options else ""
    return f"{options['kind']} {name}{size}"


def _unusable_rows(
    request: TrainingRequest, config: Config, fields: tuple[Field, Field]
) -> Iterator[Report]:
    """The rows that can be read and yet not be taken by the fields, or that are not aligned: those
    to learn from, then those held out."""
    if all(as_text_field(field) or field.is_absent for field in fields):
        return
    data: Data | None
    for data, held_out in ((request.data, False), (request.valid, True)):
        if data is None:
            continue
        update = {"skip_bad": True, **({"weight": ""} if held_out else {})}
        lenient = config.data.model_copy(update=update)
        report, columns = Report(), Columns(*fields, lenient, held_out)
        for _ in usable_rows(read_rows(data, lenient, Report()), columns, report):
            pass
        yield report


def _mean_lengths(
    config: Config, found: Survey, fields: tuple[Field, Field]
) -> Generator[str, None, tuple[int, int]]:
    """What is to be said of lengths in tokens; in the end those of a mean row, closed."""
    limits = config.data.max_source, config.data.max_target
    means = []
    for side, name in enumerate(("source", "target")):
        field = fields[side]
        lengths = _lengths(field, [row[side] for row in found.sample])
        means.append(round(float(lengths.mean())) + field.closing)
        yield f"{name}: {field.describe()}"
        if config.data.lines == "stream":
            means[side] = config.training.truncate if name == "target" else 1
        elif field.closing:
            yield (
                f"  a row has {lengths.mean():.1f} on average, and "
                f"{(lengths > limits[side]).sum():,} of {len(lengths):,} rows have more than "
                f"data.max_{name} = {limits[side]:,}"
            )
    return means[0], means[1]


def _lengths(field: Field, cells: list[str]) -> NDArray[np.int64]:
    """The items of each cell that can be read, 1 where none can; of files, of some from all over.

    Files are read one by one: of 100,000 in a sample only the lengths would fit into memory.
    """
    if field.reads_files:
        some = [cells[place] for place in even_indices(len(cells), MAX_MEASURED_FILES)]
        found = [len(field.rows([cell])[0]) for cell in some if field.fault(cell) is None]
    else:
        found = [len(row) for row in field.rows([c for c in cells if field.fault(c) is None])]
    return np.array(found or [1 + field.closing], np.int64) - field.closing
