"""Check the data, plan the training, and estimate its time on this machine."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from seqloom.config import Config, merge
from seqloom.data import (
    Columns,
    Data,
    Lengths,
    Report,
    describe_data,
    even_indices,
    read_rows,
    usable_rows,
)
from seqloom.errors import DataError
from seqloom.fields import Field, as_text_field
from seqloom.parallel import return_memory
from seqloom.remedies import Remedy, Setting, Wording
from seqloom.runs.findings import (
    DataCheck,
    count_of,
    run_checks,
    them_or_it,
    verdict,
)
from seqloom.runs.progress import TrainingObserver, phase
from seqloom.runs.request import ConfigCheck, TrainingRequest
from seqloom.runs.streams import chunk_steps
from seqloom.runs.timing.estimate import SampledRows, training_estimate
from seqloom.runs.vocabulary import learn_fields
from seqloom.surveys import Survey, overlap

__all__ = ["check_rows"]

ENCODED = 1_000  # cells encoded at a time
MAX_MEASURED_FILES = 300  # files read for their lengths


def check_rows(
    request: TrainingRequest,
    watch: TrainingObserver,
    *,
    check: ConfigCheck,
    data_checks: Sequence[DataCheck],
    wording: Wording,
) -> Iterator[str]:
    """Yield findings as lines of text as they become known, then the verdict.

    DataError at the end if training would stop at a malformed row; all of them are counted first.
    """
    lenient = replace(request, options=merge(request.options, {"data": {"skip_bad": True}}))
    found = lenient.survey(watch)
    yield from found.lines()
    lost = found.report.defect_count
    other: Survey | None = None
    if request.valid is not None:
        other = replace(lenient, data=request.valid).survey(watch)
        yield from _validation_lines(found, other)
        lost += other.report.defect_count
    config = request.plan(found.facts)
    check(config)
    yield ""
    yield from _choices(config)
    held_out = _count_held_out(config, found) if other is None else other.facts.rows
    findings = run_checks(data_checks, request.data, config, found, other)
    found = found.without_hashes()
    del other  # frees memory for learning the vocabulary
    with phase(watch, "learning the vocabulary") as tell:
        fields = learn_fields(config, request.data, found, tell=tell)
    lengths = yield from _sampled_lengths(config, found, fields)
    del found  # frees memory for the model
    return_memory()
    yield training_estimate(config, fields, SampledRows(lengths, held_out))
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
    """The approximate number of validation rows."""
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
    """A short description of a model part, such as `transformer encoder of 3 × 192`."""
    options = part.model_dump()
    size = f" of {options['layers']} × {options['width']}" if "layers" in options else ""
    return f"{options['kind']} {name}{size}"


def _unusable_rows(
    request: TrainingRequest, config: Config, fields: tuple[Field, Field]
) -> Iterator[Report]:
    """Readable rows that the fields reject or that are not aligned: of the training data, then of
    the validation data.
    """
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


def _sampled_lengths(
    config: Config, found: Survey, fields: tuple[Field, Field]
) -> Generator[str, None, Lengths]:
    """Yield notes on lengths in tokens; return the lengths of sampled rows with end symbols."""
    limits = config.data.max_source, config.data.max_target
    measured = _readable_lengths(fields, found.sample)
    sides = []
    for side, name in enumerate(("source", "target")):
        field, lengths = fields[side], measured[side]
        yield f"{name}: {field.describe()}"
        if field.closing and config.data.lines != "stream":
            yield (
                f"  a row has {lengths.mean():.1f} on average, and "
                f"{(lengths > limits[side]).sum():,} of {len(lengths):,} rows have more than "
                f"data.max_{name} = {limits[side]:,}"
            )
        sides.append(np.minimum(lengths, limits[side]) + field.closing)
    if config.data.lines == "stream":
        chunk = chunk_steps(config.training)
        lanes = max(1, config.training.batch_tokens // chunk)
        return Lengths(np.full(lanes, 1), np.full(lanes, chunk))
    return Lengths(*sides)


def _readable_lengths(
    fields: tuple[Field, Field], sample: Sequence[tuple[str, str]]
) -> list[NDArray[np.int64]]:
    """The lengths of both sides of sampled rows without a fault; 1 if there are none.

    If rows name files, an evenly spaced part of them is read one by one, since only the lengths of
    a full sample fit into memory.
    """
    rows = list(sample)
    if any(field.reads_files for field in fields):
        rows = [rows[place] for place in even_indices(len(rows), MAX_MEASURED_FILES)]
    sound: list[tuple[str, str]] = []
    counts: tuple[list[int], list[int]] = [], []
    for row in rows:
        sides = list(zip(fields, row, counts, strict=True))
        if any(field.fault(cell) is not None for field, cell, _ in sides):
            continue
        sound.append(row)
        for field, cell, counted in sides:
            if field.reads_files:
                counted.append(len(field.rows([cell])[0]))
    for side, (field, counted) in enumerate(zip(fields, counts, strict=True)):
        if not field.reads_files:
            counted += _encoded_lengths(field, [row[side] for row in sound])
    return [
        np.array(counted or [1 + field.closing], np.int64) - field.closing
        for field, counted in zip(fields, counts, strict=True)
    ]


def _encoded_lengths(field: Field, cells: Sequence[str]) -> Iterator[int]:
    """The length of each cell, encoded in chunks to bound memory."""
    for start in range(0, len(cells), ENCODED):
        yield from field.flat_rows(cells[start : start + ENCODED]).lengths.tolist()
