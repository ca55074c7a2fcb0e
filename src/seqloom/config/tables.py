"""Configuration as nested tables: laid over one another, by dotted names, in today's words."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = [
    "RENAMED_VALUES",
    "Overrides",
    "leaves",
    "merge",
    "original_values",
    "rename_values",
]

Overrides = dict[str, Any]
"""A partial configuration: nested tables as TOML gives them."""


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Overrides:
    """`base` with what `over` says in its place, table by table."""
    merged = dict(base)
    for name, value in over.items():
        old, value = _expand_kinds(merged.get(name), value)
        if (
            isinstance(old, Mapping)
            and isinstance(value, Mapping)
            and not _switches_kind(old, value)
        ):
            merged[name] = merge(old, value)
        else:
            merged[name] = value
    return merged


def _expand_kinds(old: Any, new: Any) -> tuple[Any, Any]:
    """A choice may be written as its bare kind; beside a table it becomes one."""
    if isinstance(old, Mapping) and isinstance(new, str):
        return old, {"kind": new}
    if isinstance(old, str) and isinstance(new, Mapping):
        return {"kind": old}, new
    return old, new


def _switches_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "kind" in old and "kind" in new and bool(old["kind"] != new["kind"])


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables under its dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


RENAMED_VALUES: dict[str, dict[str, str]] = {
    "target": {"gaps": "blanks"},
    "model.decoder": {"gaps": "blanks"},
}
"""For the dotted name of a choice, its kinds of earlier releases and what they are called now."""


def rename_values(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a configuration, whichever release wrote them, in today's words."""
    return _replace_kinds(tables, RENAMED_VALUES)


def original_values(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The same in the words that each value was first written in, which never change."""
    original = {
        name: {new: old for old, new in kinds.items()} for name, kinds in RENAMED_VALUES.items()
    }
    return _replace_kinds(tables, original)


def _replace_kinds(
    tables: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    changed = dict(tables)
    for name, kinds in names.items():
        first, _, rest = name.partition(".")
        value = changed.get(first)
        if rest and isinstance(value, Mapping):
            changed[first] = _replace_kinds(value, {rest: kinds})
        elif not rest and first in changed:
            changed[first] = _replace_kind(value, kinds)
    return changed


def _replace_kind(value: Any, kinds: Mapping[str, str]) -> Any:
    """A choice, written as its bare kind or as a table, with the kind replaced."""
    if isinstance(value, str):
        return kinds.get(value, value)
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        return {**value, "kind": kinds.get(value["kind"], value["kind"])}
    return value
