"""Learn, save and load fields by the kind of their column.

On disk a field is one JSON file with a hash over everything, and perhaps a tokenizer's model.
"""

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from pydantic import ValidationError

from seqloom.config.columns import COLUMNS, SOURCES, TARGETS, ColumnOptions
from seqloom.config.sections import original_values, rename_values
from seqloom.errors import RunError
from seqloom.fields.items import FlatRows, Items, Values
from seqloom.fields.protocol import Field, UploadLimits
from seqloom.fields.sentences import TextPiece
from seqloom.remedies import Remedy, Setting
from seqloom.tokenizers.offsets import Offsets
from seqloom.tokenizers.specials import FieldState

__all__ = [
    "FACTS",
    "MODEL",
    "PersistentField",
    "digest",
    "learn_field",
    "learn_target",
    "load_field",
    "needs_all_cells",
    "placeholder_items",
    "read_facts",
    "read_file",
    "write_field",
]

FACTS, MODEL = "field.json", "tokenizer.model"

FORMAT = 1
LARGEST_FILE = 64 * 2**20

Kind = TypeVar("Kind", bound=ColumnOptions)


class PersistentField(Generic[Kind]):
    """Base class of fields, with defaults; its state is its configuration and a few facts.

    A kind of column derives its field from this and overrides what differs.
    """

    config: Kind
    closing = 0  # closing items at the end of every row
    truncates_left = False  # whether truncation drops items from the start
    is_text: ClassVar[bool] = False  # whether a cell is tokenized text
    is_aligned: ClassVar[bool] = False  # whether each source token has an item
    is_absent: ClassVar[bool] = False  # whether the column does not exist and cells are empty
    reads_files: ClassVar[bool] = False  # whether cells name files
    takes_uploads: ClassVar[bool] = False  # whether files can be uploaded
    takes_lists: ClassVar[bool] = False  # whether a cell may be a list of numbers instead
    takes_any_cell: bool = False  # whether every cell is valid
    needs_all_cells: ClassVar[bool] = (
        False  # whether it must be learnt from all cells, not a sample
    )
    length_unit: ClassVar[str] = (
        ""  # unit of a row's length; empty if all rows have the same length
    )
    can_split: ClassVar[bool] = False  # whether long cells can be read in pieces

    def __init__(self, config: Kind) -> None:
        """Use `learn` or `restore`."""
        self.config = config

    @classmethod
    def learn(cls, config: Kind, cells: Iterable[str], *, seed: int) -> Self:
        """Learn a field from the cells of a column; by default nothing is learnt."""
        return cls(config)

    @classmethod
    def learn_target(cls, config: Kind, cells: Iterable[str], *, source: Field, seed: int) -> Self:
        """The same for a target, which may be made of what its source is made of."""
        return cls.learn(config, cells, seed=seed)

    @classmethod
    def restore(cls, config: Kind, facts: Mapping[str, Any], directory: Path) -> Self:
        """The field with these facts, whose other files lie in the directory."""
        return cls(config)

    @classmethod
    def placeholder_items(cls, config: Kind) -> Items:
        """Items of this kind of column before any data is known."""
        return cls(config).items

    @property
    def items(self) -> Items:
        """The items of a row."""
        raise NotImplementedError

    @property
    def as_target(self) -> Self:
        """The field as a target, if both sides share a vocabulary."""
        return self

    @property
    def longest(self) -> int:
        """Items of the longest training cell; 0 if unknown."""
        return 0

    def unknown_share(self, row: Values) -> float:
        """The share of a row's items that are unknown."""
        return 0.0

    def rows(self, cells: Sequence[str]) -> list[Values]:
        """Encode valid cells, each with its closing items."""
        raise NotImplementedError

    def flat_rows(self, cells: Sequence[str]) -> FlatRows:
        """Encode valid cells as one flat array with lengths."""
        return FlatRows.of(self.rows(cells))

    def plain_text(self, cell: str) -> str:
        """The text of a cell that offsets point into: several texts are lines of it."""
        return cell

    def offsets(self, cell: str, row: Values | None = None) -> list[Offsets]:
        """The offsets of each item in the cell's text; empty if items are not text."""
        return []

    def decoded_offsets(self, row: Any) -> list[Offsets]:
        """The offsets of each item in `cell(row)`; empty if items are not text."""
        return []

    def surfaces(self, cell: str) -> list[str]:
        """The word that each item of a cell was read from; empty if items are not words."""
        return []

    def unseen(self, cell: str) -> list[str]:
        """Labels of a cell unseen in training; empty for other columns."""
        return []

    def tokens(self, row: Any) -> list[str]:
        """A readable form of each item of a row."""
        raise NotImplementedError

    def cell(self, row: Any) -> str:
        """Decode a row: its items joined by spaces."""
        return " ".join(self.tokens(row))

    def describe(self) -> str:
        """The field in a few words."""
        return f"a column of kind {self.config.kind}"

    def extend(self, cells: Sequence[str]) -> Self:
        """Extend the field by what these cells add, if it can grow."""
        return self

    def extend_target(self, cells: Sequence[str], *, source: Field) -> Self:
        """Extend a target's field, given the extended source."""
        return self.extend(cells)

    def facts(self) -> dict[str, Any]:
        """Facts about the column for clients, besides its kind."""
        return self.items.facts()

    def read_upload(self, content: bytes, limits: UploadLimits) -> Values:
        """The row of a file's content; DataError where it cannot be read or exceeds a limit."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """A hash that differs between fields that encode some cell differently."""
        return digest(self.config, self._state())

    def truncate(self, row: Values, most: int) -> Values:
        """Truncate a row to `most` items, keeping its closing items."""
        if len(row) - self.closing <= most:
            return row
        return np.concatenate([row[:most], row[len(row) - self.closing :]])

    def split(self, cell: str, most: int) -> list[TextPiece]:
        """Split a long cell; by default the cell is returned whole."""
        return [TextPiece(cell, "")]

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
        write_field(directory, self.config, self._state())

    def _state(self) -> FieldState:
        return FieldState({})


MISSING = object()

# Options added since earlier releases, with the values that keep the hashes of old files.
ADDED: dict[str, Any] = {
    "vocabulary": "", "specials": "all", "unknown": "unk", "one_boundary": False,
    "any_case": False,
}  # fmt: skip


def digest(config: ColumnOptions, saved: FieldState) -> str:
    """A hash over the whole field."""
    return str(_with_digest(config, saved)["sha256"])


def write_field(directory: Path, config: ColumnOptions, saved: FieldState) -> None:
    """Write the files of a field into a directory, which is made if it is not there."""
    text = json.dumps(_with_digest(config, saved), ensure_ascii=True, indent=0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if saved.model:
            (directory / MODEL).write_bytes(saved.model)
        (directory / FACTS).write_text(text + "\n", encoding="ascii")
    except OSError as error:
        raise RunError(
            f"cannot be written ({error.strerror})",
            place=directory,
            remedy="free space or choose another place",
        ) from None


def read_facts(directory: Path) -> dict[str, Any]:
    """Read a field's JSON file; RunError if it does not have this format."""
    path = directory / FACTS
    try:
        facts = json.loads(read_file(path))
    except (ValueError, RecursionError):
        raise RunError("is not JSON text", place=path, remedy="restore it from a copy") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise RunError(
            f"is not a field of format {FORMAT}",
            place=path,
            remedy="restore it from a copy or use the release that wrote it",
        )
    return facts


def read_file(path: Path) -> bytes:
    """Read a regular file of bounded size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            raise RunError(
                "is not an ordinary file of at most 64 MB",
                place=path,
                remedy="restore it from a copy",
            )
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"cannot be read ({error.strerror})", place=path, remedy="restore it from a copy"
        ) from None


def _with_digest(config: ColumnOptions, saved: FieldState) -> dict[str, Any]:
    """The content of the JSON file, with a hash over everything.

    The hash is over the original names of values, so that renaming them keeps it. A user-defined
    kind is recorded with its module.
    """
    facts = {"format": FORMAT, "config": config.model_dump(mode="json"), **saved.facts}
    older = original_values({"target": facts["config"]})["target"]
    original = {**facts, "config": _without_added(older)}
    if isinstance(text := facts.get("text"), dict):  # tokenization of the text of blanks
        original["text"] = _without_added(text)
    content = json.dumps(original, ensure_ascii=True, sort_keys=True).encode() + saved.model
    digest = {"sha256": hashlib.sha256(content).hexdigest()}
    if COLUMNS.is_built_in(config.kind):
        return {**facts, **digest}
    return {**facts, "module": COLUMNS.module_of(config.kind), **digest}


def _without_added(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if ADDED.get(name, MISSING) != value}


def learn_field(config: ColumnOptions, cells: Iterable[str], *, seed: int) -> Field:
    """Learn a field from the cells of a column, deterministically by cells and seed."""
    field: Field = COLUMNS.parts[config.kind].learn(config, cells, seed=seed)
    return field


def learn_target(config: ColumnOptions, cells: Iterable[str], *, source: Field, seed: int) -> Field:
    """The same for a target, which may be made of what its source is made of."""
    part = COLUMNS.parts[config.kind]
    field: Field = part.learn_target(config, cells, source=source, seed=seed)
    return field


def placeholder_items(config: ColumnOptions) -> Items:
    """Items of a kind of column before any data is known."""
    items: Items = COLUMNS.parts[config.kind].placeholder_items(config)
    return items


def needs_all_cells(kind: str) -> bool:
    """Whether the field must be learnt from all cells, not a sample."""
    return bool(COLUMNS.parts[kind].needs_all_cells)


def load_field(directory: Path) -> Field:
    """Load a saved field; RunError if its files are damaged."""
    facts = read_facts(directory)
    config = _options(facts, directory / FACTS)
    field: Field = COLUMNS.parts[config.kind].restore(config, facts, directory)
    if field.fingerprint != facts.get("sha256"):
        raise RunError(
            "was changed after it was saved",
            place=directory / FACTS,
            remedy="restore it from a copy",
        )
    return field


def _options(facts: Mapping[str, Any], place: Path) -> ColumnOptions:
    """The options of a saved field, also of earlier releases."""
    table = rename_values({"target": facts.get("config")})["target"]
    kind = table.get("kind") if isinstance(table, Mapping) else None
    known = [options for family in (SOURCES, TARGETS) for name, options in family if name == kind]
    if not known:
        raise _unknown_kind(kind, facts.get("module"), place)
    fitting = (each for each in known if table.keys() <= each.model_fields.keys())
    try:  # a series has other options as a target
        return next(fitting, known[0]).model_validate(table)
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise _damage_error(name, place) from None


def _unknown_kind(kind: Any, module: Any, place: Path) -> RunError:
    if not isinstance(kind, str) or not isinstance(module, str):
        return _damage_error("kind", place)
    return RunError(
        f"is a column of kind {kind!r}, which the module {module} registers",
        place=place,
        remedy=Remedy("import it first with {}", Setting("modules", module)),
    )


def _damage_error(name: str, place: Path) -> RunError:
    return RunError(
        f"its configuration is damaged at {name or 'the top'}",
        place=place,
        remedy="restore it from a copy",
    )
