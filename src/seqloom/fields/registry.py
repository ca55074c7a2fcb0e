"""Which field belongs to which kind of column; the only place that asks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from seqloom.config.columns import BlanksConfig, ColumnConfig, SourceConfig, TargetConfig
from seqloom.errors import RunError
from seqloom.fields.blanks import BlanksField
from seqloom.fields.field_files import FACTS, read_facts
from seqloom.fields.labels import LabelField, TagsField
from seqloom.fields.no_source import NoField
from seqloom.fields.numbers import NumberField, VectorField
from seqloom.fields.pictures import PictureField
from seqloom.fields.protocol import Field
from seqloom.fields.series import SeriesField
from seqloom.fields.sounds import SoundField
from seqloom.fields.text import TextField
from seqloom.fields.turns import TurnsField
from seqloom.fields.videos import VideoField

__all__ = ["learn_field", "learn_target", "load_field", "load_text"]

KINDS: dict[str, Any] = {
    "text": TextField,
    "turns": TurnsField,
    "blanks": BlanksField,
    "label": LabelField,
    "tags": TagsField,
    "number": NumberField,
    "vector": VectorField,
    "series": SeriesField,
    "picture": PictureField,
    "sound": SoundField,
    "video": VideoField,
    "none": NoField,
}
_SOURCES: TypeAdapter[ColumnConfig] = TypeAdapter(SourceConfig)
_TARGETS: TypeAdapter[ColumnConfig] = TypeAdapter(TargetConfig)


def learn_field(config: ColumnConfig, cells: Iterable[str], *, seed: int) -> Field:
    """A new field from the cells of a column; the same cells and seed give the same."""
    field: Field = KINDS[config.kind].learn(config, cells, seed=seed)
    return field


def learn_target(config: ColumnConfig, cells: Iterable[str], *, source: Field, seed: int) -> Field:
    """The same for a target, which may be made of what its source is made of."""
    if isinstance(config, BlanksConfig) and isinstance(source, TextField):
        return BlanksField.from_source(config, source)
    return learn_field(config, cells, seed=seed)


def load_field(directory: Path) -> Field:
    """The field that was saved there; RunError where its files are not whole."""
    facts = read_facts(directory)
    try:
        config = _adapter(facts.get("config")).validate_python(facts.get("config"))
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise RunError(
            f"{directory / FACTS}: its configuration is damaged at {name or 'the top'}; "
            "restore it from a copy"
        ) from None
    field: Field = KINDS[config.kind].restore(config, facts, directory)
    if field.fingerprint != facts.get("sha256"):
        raise RunError(
            f"{directory / FACTS}: was changed after it was saved; restore it from a copy"
        )
    return field


def _adapter(config: Any) -> TypeAdapter[ColumnConfig]:
    """What knows the kind of a saved field; a series has other options as a target."""
    table = config if isinstance(config, dict) else {}
    written = table.get("kind") in ("blanks", "tags", "number") or "horizon" in table
    return _TARGETS if written else _SOURCES


def load_text(directory: Path) -> TextField:
    """The same for a field that must be text."""
    field = load_field(directory)
    if not isinstance(field, TextField):
        raise RunError(f"{directory / FACTS}: is {field.describe()}, not text; name another field")
    return field
