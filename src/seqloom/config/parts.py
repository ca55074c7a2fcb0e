"""Parts that are not built in: which module registered each, and whether it is there again."""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from seqloom.config.choices import PartMark
from seqloom.config.section import Section
from seqloom.errors import ConfigError
from seqloom.registry import FAMILIES, Family
from seqloom.remedies import Remedy, Setting

__all__ = ["check_parts", "foreign_parts"]


def foreign_parts(section: Section) -> dict[str, dict[str, str]]:
    """By family and by name, the module of each part of a configuration that is not built in."""
    modules: dict[str, dict[str, str]] = {}
    chosen = list(_parts(section))
    companions = [
        (FAMILIES[name], kind)
        for family, kind in chosen
        for name in family.companions
        if name in FAMILIES
    ]
    for family, kind in (*chosen, *companions):
        if kind in family and not family.is_built_in(kind):
            modules.setdefault(family.name, {})[kind] = family.module_of(kind)
    return modules


def check_parts(modules: Any, *, place: str) -> None:
    """ConfigError at the first recorded part that is not registered, naming the module it had."""
    for family, members in _tables(modules, place):
        for kind, module in _tables(members, place):
            if family not in FAMILIES or kind not in FAMILIES[family]:
                shown = module if isinstance(module, str) else reprlib.repr(module)
                raise ConfigError(
                    f"needs the {family} {reprlib.repr(kind)}, which the module {shown} registers",
                    place=place,
                    remedy=Remedy("import it first with {}", Setting("modules", shown)),
                )


def _parts(section: Section) -> Iterator[tuple[Family[Any, Any], str]]:
    """Every member of a family that a configuration chooses."""
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        marks = (mark for mark in field.metadata if isinstance(mark, PartMark))
        yield from filter(None, (mark.member(value) for mark in marks))
        if isinstance(value, Section):
            yield from _parts(value)


def _tables(table: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(table, Mapping):
        raise ConfigError(
            f"parts = {reprlib.repr(table)}: must be tables with the module of each part",
            place=place,
        )
    yield from table.items()
