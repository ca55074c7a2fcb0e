"""What is in the data, what training would make of it, and how long that takes here."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
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
    preview,
    read_rows,
    usable_rows,
)
from seqloom.errors import DataError
from seqloom.fields import Field, FileField, NoField, TextField
from seqloom.remedies import Remedy, Setting
from seqloom.runs.findings import DataCheck, Evidence, count_of, them_or_it, verdict
from seqloom.runs.prepare import ConfigCheck, learn_fields
from seqloom.runs.request import TrainingRequest
from seqloom.runs.time_estimate import training_estimate

__all__ = ["check_rows"]

MAX_MEASURED_FILES = 300  # files that are read for their lengths


def check_rows(
    request: TrainingRequest, *, check: ConfigCheck, data_checks: Sequence[DataCheck]
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
    held_out = _held_out_rows(config, found) if other is None else other.facts.rows
    yield from _trial(config, found, fields, held_out=held_out)
    for unfit in _unusable_rows(request, config, fields):
        yield from unfit.lines()[2:]
        yield from filter(None, [unfit.unseen_line()])
        lost += unfit.defect_count
    lost = 0 if config.data.skip_bad else lost
    evidence = Evidence(config, found, other, preview(request.data, config.data))
    findings = [each for check_data in data_checks for each in check_data(evidence)]
    yield from ("", *verdict(findings, unusable=lost))
    if lost:
        raise DataError(
            f"{count_of(lost, 'row')} cannot be used",
            place=describe_data(request.data),
            remedy=Remedy(
                f"mend {them_or_it(lost)}, or pass {{}} to train without {them_or_it(lost)}",
                Setting("data.skip_bad", True),
            ),
        )


def _held_out_rows(config: Config, found: Survey) -> int:
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
    if all(isinstance(field, TextField | NoField) for field in fields):
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


def _trial(
    config: Config, found: Survey, fields: tuple[Field, Field], *, held_out: int
) -> Iterator[str]:
    """Lengths in tokens, and time and memory from a few updates of the planned model."""
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
    yield training_estimate(config, fields, (means[0], means[1]), held_out=held_out)


def _lengths(field: Field, cells: list[str]) -> NDArray[np.int64]:
    """The items of each cell that can be read, 1 where none can; of files, of some from all over.

    Files are read one by one: of 100,000 in a sample only the lengths would fit into memory.
    """
    if isinstance(field, FileField):
        some = [cells[place] for place in even_indices(len(cells), MAX_MEASURED_FILES)]
        found = [len(field.rows([cell])[0]) for cell in some if field.fault(cell) is None]
    else:
        found = [len(row) for row in field.rows([c for c in cells if field.fault(c) is None])]
    return np.array(found or [1 + field.closing], np.int64) - field.closing
