"""All options as rows: what the manual, `seqloom options` and errors that name a key go by."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seqloom.config.choices import Choice, NameOf
from seqloom.config.schema import Config
from seqloom.config.section import PartOptions

__all__ = ["OptionRow", "choice_of", "names_and_sections", "option_names", "option_rows"]


class OptionRow(NamedTuple):
    """One option of one kind."""

    name: str  # dotted, as it is set
    kind: str  # the kind of its section that has it; empty where the section is no choice
    default: Any  # of that kind
    meaning: str


def option_rows(section: type[BaseModel] = Config) -> Iterator[OptionRow]:
    """Every option of every kind once, in the order of the manual."""
    yield from dict.fromkeys(_rows(section, "", ""))


def option_names() -> list[str]:
    """Every dotted name that can be set."""
    return list(dict.fromkeys(row.name for row in option_rows()))


def names_and_sections() -> list[str]:
    """Every dotted name that can be set, and the sections that they are in."""
    names = [name.split(".") for name in option_names()]
    return sorted({".".join(name[:end]) for name in names for end in range(1, len(name) + 1)})


def choice_of(field: FieldInfo) -> Choice | None:
    """The choice that a field is, if it is one."""
    return next((each for each in field.metadata if isinstance(each, Choice)), None)


def _rows(section: type[BaseModel], prefix: str, kind: str) -> Iterator[OptionRow]:
    """The options of a section itself, and then those of the sections in it."""
    nested: list[Iterator[OptionRow]] = []
    for name, field in section.model_fields.items():
        choice, dotted = choice_of(field), f"{prefix}{name}"
        if choice:
            nested.append(_choice_rows(choice, dotted, kind, field.default.kind))
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            nested.append(_rows(field.annotation, f"{dotted}.", kind))
        elif name != "kind" or not issubclass(section, PartOptions):
            yield OptionRow(dotted, kind, field.default, _meaning(field))
    yield from chain.from_iterable(nested)


def _choice_rows(choice: Choice, dotted: str, kind: str, default: str) -> Iterator[OptionRow]:
    yield OptionRow(f"{dotted}.kind", kind, default, choice.meaning)
    for member, options in choice.members():
        yield from _rows(options, f"{dotted}.", member)


def _meaning(field: FieldInfo) -> str:
    """The description of an option; of the name of a part, with all that can be chosen."""
    named = next((each for each in field.metadata if isinstance(each, NameOf)), None)
    return named.meaning if named else field.description or ""
