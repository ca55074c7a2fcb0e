"""A field on disk: one JSON file with a hash over everything, and perhaps a tokenizer's model."""

import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from seqloom.config.section import Section
from seqloom.errors import RunError
from seqloom.fields.values import Values

__all__ = [
    "FACTS",
    "MODEL",
    "FieldState",
    "PersistentField",
    "digest",
    "read_facts",
    "read_file",
    "write_field",
]

FACTS, MODEL = "field.json", "tokenizer.model"
FORMAT = 1
LARGEST_FILE = 64 * 2**20

Kind = TypeVar("Kind", bound=Section)


class FieldState(NamedTuple):
    """What a field is made of: values for JSON and, for subwords, the model file's content."""

    facts: Mapping[str, Any]
    model: bytes = b""


class PersistentField(Generic[Kind]):
    """A field that is what its configuration and a few saved facts say, and nothing else."""

    config: Kind
    closing = 0  # items at the end of every row that are not in its cell
    truncates_left = (
        False  # whether what is oldest in a row is left out where there is too much of it
    )

    @property
    def fingerprint(self) -> str:
        """Differs wherever two fields differ in what they make of a cell."""
        return digest(self.config, self._state())

    def truncate(self, row: Values, most: int) -> Values:
        """The first items of a row, `most` of them at most, and those that close it."""
        if len(row) - self.closing <= most:
            return row
        return np.concatenate([row[:most], row[len(row) - self.closing :]])

    def save(self, directory: Path) -> None:
        """Write the field's files into a directory, which is made if it is not there."""
        write_field(directory, self.config, self._state())

    def _state(self) -> FieldState:
        return FieldState({})


def digest(config: Section, saved: FieldState) -> str:
    """A hash of all that a field is."""
    return str(_with_digest(config, saved)["sha256"])


def write_field(directory: Path, config: Section, saved: FieldState) -> None:
    """Write the files of a field into a directory, which is made if it is not there."""
    text = json.dumps(_with_digest(config, saved), ensure_ascii=True, indent=0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if saved.model:
            (directory / MODEL).write_bytes(saved.model)
        (directory / FACTS).write_text(text + "\n", encoding="ascii")
    except OSError as error:
        raise RunError(
            f"{directory}: cannot be written ({error.strerror}); free space or choose another place"
        ) from None


def read_facts(directory: Path) -> dict[str, Any]:
    """The content of a field's JSON file; RunError where it is not one of this format."""
    path = directory / FACTS
    try:
        facts = json.loads(read_file(path))
    except (ValueError, RecursionError):
        raise RunError(f"{path}: is not JSON text; restore it from a copy") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise RunError(
            f"{path}: is not a field of format {FORMAT}; "
            "restore it from a copy or use the release that wrote it"
        )
    return facts


def read_file(path: Path) -> bytes:
    """The content of an ordinary file of bounded size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            raise RunError(
                f"{path}: is not an ordinary file of at most 64 MB; restore it from a copy"
            )
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); restore it from a copy"
        ) from None


def _with_digest(config: Section, saved: FieldState) -> dict[str, Any]:
    """What goes into the JSON file, with a hash over everything."""
    facts = {"format": FORMAT, "config": config.model_dump(mode="json"), **saved.facts}
    content = json.dumps(facts, ensure_ascii=True, sort_keys=True).encode() + saved.model
    return {**facts, "sha256": hashlib.sha256(content).hexdigest()}
