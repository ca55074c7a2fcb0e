"""Configuration as nested tables: how they are laid over one another, and their dotted names."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Overrides", "leaves", "merge"]

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
