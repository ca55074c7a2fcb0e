"""Inputs of requests: texts, turns, files, tables, all of bounded size."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from seqloom.data import SeriesTable, row_cell
from seqloom.errors import ConfigError, DataError, LimitError, RowError
from seqloom.fields import Field as Column
from seqloom.fields import UploadLimits, names_array
from seqloom.prediction.inputs import EncodedInput, InputGroup
from seqloom.prediction.predictor import Predictor
from seqloom.prediction.request import NO_OPTIONS, OutputOptions
from seqloom.serving.limits import ServingConfig

if TYPE_CHECKING:
    from seqloom.prediction.forecaster import Forecaster

__all__ = [
    "CHUNK",
    "FileInput",
    "Input",
    "SeriesInput",
    "StrictModel",
    "check_input",
    "check_kinds",
    "chunk",
    "describe_model",
    "group_chunk",
    "reads_files",
    "renumber",
    "tables",
    "texts",
    "uploads",
]

OBJECTS = {"series": "series", "base64": "file"}  # by the field that marks them
MAX_LABELS = 500  # labels listed


CHUNK = 8  # inputs processed at once unless they are decoded
Item = TypeVar("Item")


class StrictModel(BaseModel):
    """A part of a request: every name must be known, and every value of the right kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class FileInput(StrictModel):
    """A picture (PNG, JPEG, GIF, WebP, BMP) or a recording (WAV, FLAC, OGG)."""

    base64: str = Field(description="the file's content")

    def content(self) -> bytes:
        """DataError where it is not what it should be."""
        try:
            return base64.b64decode(self.base64, validate=True)
        except (binascii.Error, ValueError):
            raise DataError("is not base64", remedy="send a file's content in that form") from None


Cell = float | str | None
"""A number, a time, or nothing where a column is not known yet."""


class SeriesInput(StrictModel):
    """The past of a series."""

    series: list[dict[str, Cell]] | dict[str, list[Cell]] = Field(
        description="a list of rows, or a list for each column"
    )
    steps: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="to forecast; as many as were learnt if absent"
    )

    @property
    def size(self) -> int:
        """How many cells it has."""
        if isinstance(self.series, dict):
            return sum(map(len, self.series.values()))
        return sum(map(len, self.series))

    def rows(self) -> list[list[str | float]]:
        """The columns' names, and a row for each step."""
        if isinstance(self.series, dict):
            if len({len(column) for column in self.series.values()}) > 1:
                raise DataError(
                    "the columns are not of one length", remedy="fill the shorter ones in"
                )
            columns = self.series
        else:
            names = list(dict.fromkeys(name for row in self.series for name in row))
            columns = {name: [row.get(name) for row in self.series] for name in names}
        if not any(columns.values()):
            raise DataError("is empty", remedy="add rows")
        cells = zip_longest(*columns.values())
        return [list(columns), *(["" if each is None else each for each in row] for row in cells)]


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return next((name for key, name in OBJECTS.items() if key in value), "columns")
    if isinstance(value, list):
        return "turns" if all(isinstance(each, str) for each in value) else "steps"
    return "text"


Input = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[list[str], Tag("turns")]
    | Annotated[list[float] | list[list[float]], Tag("steps")]
    | Annotated[FileInput, Tag("file")]
    | Annotated[SeriesInput, Tag("series")]
    | Annotated[dict[str, Cell], Tag("columns")],
    Discriminator(_kind),
]


def check_kinds(name: str, model: Predictor) -> None:
    """Raise ConfigError if a model's inputs cannot be sent over HTTP."""
    kind, source = model.source.config.kind, model.source
    if source.reads_files and not (source.takes_uploads or source.takes_lists):
        raise ConfigError(
            f"reads {kind}, which cannot be sent over HTTP",
            place=name,
            remedy="use seqloom predict",
        )


def reads_files(model: Predictor) -> bool:
    """Whether inputs are files."""
    return model.source.takes_uploads


def check_input(given: Input, limits: ServingConfig) -> None:
    """Raise LimitError if an input exceeds this server's limits."""
    sizes: tuple[tuple[str, int, int], ...] = ()
    if isinstance(given, str):
        sizes = (("characters", len(given), limits.characters),)
    elif isinstance(given, list) and not all(isinstance(each, str) for each in given):
        size = sum(len(each) if isinstance(each, list) else 1 for each in given)
        sizes = (("cells", size, limits.cells),)
    elif isinstance(given, list | dict):
        parts = [*given, *(map(str, given.values()) if isinstance(given, dict) else ())]
        size = sum(len(part) + 1 for part in parts)
        sizes = (("characters", size, limits.characters),)
    elif isinstance(given, SeriesInput):
        sizes = (
            ("cells", given.size, limits.cells),
            ("steps", given.steps or 0, limits.steps),
        )
    for name, size, most in sizes:
        if size > most:
            raise LimitError(f"{size:,} is more than this server's {name}, {most:,}")


def uploads(
    model: Predictor,
    inputs: Sequence[Any],
    limits: ServingConfig,
    options: OutputOptions = NO_OPTIONS,
) -> list[EncodedInput]:
    """Decode and encode files; raises the error of the first invalid one."""
    found: list[EncodedInput] = []
    reader = model.reader_for(options)
    for number, given in enumerate(inputs):
        try:
            if not isinstance(given, FileInput):
                raise DataError("is not a file", remedy='send {"base64": "..."} with its content')
            row = _row(model.source, given.content(), limits)
            found += reader.read(number, row)
        except DataError as error:
            raise error.at(f"inputs, number {number + 1}") from None
    return found


def _row(field: Column, content: bytes, limits: ServingConfig) -> Any:
    return field.read_upload(content, UploadLimits(limits.pixels, limits.recording))


def texts(model: Predictor, inputs: Sequence[Any]) -> list[str]:
    """Inputs as texts, objects by column or, if the model reads them, turns and columns; raises the
    error of the first invalid one.
    """
    found = []
    for number, given in enumerate(inputs, start=1):
        try:
            found.append(_cell(given, model))
        except DataError as error:
            raise error.at(f"inputs, number {number}") from None
    return found


def _cell(given: Any, model: Predictor) -> str:
    """The source cell of an input; file names are never resolved on the server."""
    config = model.config.data
    listed = isinstance(given, list) and (config.turns or config.columns or config.arrays)
    if not listed and not isinstance(given, str | dict):
        raise DataError("is not a text, which this model reads")
    cell = row_cell(given, config, strict=True)
    if model.source.takes_lists and names_array(cell):
        raise DataError("names a file", remedy="send its numbers as a list")
    return cell


def tables(model: "Forecaster", inputs: Sequence[Any]) -> list[tuple[SeriesTable, int | None]]:
    """Series as tables with the run's columns, and the number of steps to forecast from each.

    Raises the error of the first invalid one.
    """
    data = model.config.data.model_copy(update={"header": "yes"})
    named = replace(model, config=model.config.model_copy(update={"data": data}))
    found = []
    for number, given in enumerate(inputs, start=1):
        try:
            if not isinstance(given, SeriesInput):
                raise DataError("is not a series", remedy='send {"series": {"column": [...]}}')
            found.append((named.read_table(given.rows(), ahead=True), given.steps))
        except RowError as error:
            place = f"inputs, number {number}: line {error.line}"
            raise DataError(error.problem, place=place, remedy=error.remedy) from None
        except DataError as error:
            raise error.at(f"inputs, number {number}") from None
    return found


def describe_model(model: Predictor) -> dict[str, Any]:
    """Describe a model: its source and target, its default search, and its introduction."""
    from seqloom.tasks import introduce

    config = model.config
    fields = {
        "source": {
            "columns": config.data.source_columns,
            **_field(model.source),
            "longest": config.data.max_source,
            "splits": config.source.can_split,
        },
        "target": {**_field(model.target), "longest": config.data.max_target},
    }
    if model.as_text_predictor() is not None:
        fields["source"]["grid"] = model.picture_grid()
    notes = {"notes": list(model.notes)}
    return {**fields, "search": model.describe_search(), **introduce(model).as_dict(), **notes}


def _field(field: Column) -> dict[str, Any]:
    """A field's facts for clients: its kind, sizes and names."""
    facts = {"kind": field.config.kind, **field.facts()}
    if not 0 < len(facts.get("labels", ())) <= MAX_LABELS:
        facts.pop("labels", None)
    return facts


def chunk(items: Sequence[Item], first: int) -> list[Item]:
    """The items processed at once, from an index on."""
    return list(items[first : first + CHUNK])


def renumber(encoded: Sequence[EncodedInput], first: int) -> list[EncodedInput]:
    """The inputs processed at once from an index on, renumbered from 0."""
    return [
        each._replace(number=each.number - first)
        for each in encoded
        if first <= each.number < first + CHUNK
    ]


def group_chunk(group: InputGroup, first: int) -> InputGroup:
    """A chunk of an input group, renumbered."""
    lines = range(min(CHUNK, len(group.lines) - first))
    return InputGroup(lines, renumber(group.encoded, first), None, chunk(group.cells, first))
