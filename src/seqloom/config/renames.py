"""Values that had another name in an earlier release: old files are read under the new names."""

from collections.abc import Mapping
from typing import Any

__all__ = ["RENAMED_VALUES", "original_values", "rename_values"]

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
