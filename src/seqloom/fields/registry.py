"""Fields by the kind of their column: learnt from cells, and loaded from a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seqloom.config.columns import COLUMNS, SOURCES, TARGETS, ColumnOptions
from seqloom.config.sections import rename_values
from seqloom.errors import RunError
from seqloom.fields.field_files import FACTS, read_facts
from seqloom.fields.items import Items
from seqloom.fields.protocol import Field
from seqloom.fields.text import TextField
from seqloom.remedies import Remedy, Setting

__all__ = [
    "learn_field",
    "learn_target",
    "load_field",
    "load_text",
    "needs_all_cells",
    "placeholder_items",
]


def learn_field(config: ColumnOptions, cells: Iterable[str], *, seed: int) -> Field:
    """A new field from the cells of a column; the same cells and seed give the same."""
    field: Field = COLUMNS.parts[config.kind].learn(config, cells, seed=seed)
    return field


def learn_target(config: ColumnOptions, cells: Iterable[str], *, source: Field, seed: int) -> Field:
    """The same for a target, which may be made of what its source is made of."""
    part = COLUMNS.parts[config.kind]
    field: Field = part.learn_target(config, cells, source=source, seed=seed)
    return field


def placeholder_items(config: ColumnOptions) -> Items:
    """Items of the kind that a column has, before there is any data."""
    items: Items = COLUMNS.parts[config.kind].placeholder_items(config)
    return items


def needs_all_cells(kind: str) -> bool:
    """Whether a sample of a column's cells is not enough to learn its field from."""
    return bool(COLUMNS.parts[kind].needs_all_cells)


def load_field(directory: Path) -> Field:
    """The field that was saved there; RunError where its files are not whole."""
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
    """The options of a saved field, whichever release wrote it."""
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


def load_text(directory: Path) -> TextField:
    """The same for a field that must be text."""
    field = load_field(directory)
    if not isinstance(field, TextField):
        raise RunError(
            f"is {field.describe()}, not text", place=directory / FACTS, remedy="name another field"
        )
    return field
