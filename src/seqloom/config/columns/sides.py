"""The two columns of a row: any registered kind of source, and any of target."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Any

from seqloom.config.choices import Choice
from seqloom.config.columns.options import (
    SOURCES,
    TARGETS,
    ColumnOptions,
    SourceOptions,
    TargetOptions,
)
from seqloom.config.renames import RENAMED_VALUES
from seqloom.config.tables import Overrides, merge
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

__all__ = [
    "ColumnConfig",
    "SourceConfig",
    "TargetConfig",
    "check_columns_bare",
    "column_overrides",
    "split_column",
]

SourceConfig = Annotated[SourceOptions, Choice(SOURCES, default="text")]
"""Any kind of source that is registered."""
TargetConfig = Annotated[TargetOptions, Choice(TARGETS, default="text")]
"""Any kind of target that is registered."""
ColumnConfig = ColumnOptions

ALONE = ("none", "blanks")  # kinds that need no column of their own


def split_column(given: str) -> tuple[str | None, str | None]:
    """`COL`, `COL:KIND` or a bare `:KIND` as a column and a kind; what is not said is None.

    `none` alone means that there is no such column, and `blanks` alone that it is the source's.
    """
    name, colon, kind = given.rpartition(":")
    kind = RENAMED_VALUES["target"].get(kind, kind)
    known = [*SOURCES.kinds(), *TARGETS.kinds()]
    if (kind in ALONE and not colon) or (colon and kind in known):
        return (name or None if colon else None), kind
    near = difflib.get_close_matches(kind, known, n=1, cutoff=0.75) if colon else []
    if near:
        raise ConfigError(
            f"there is no kind {kind!r}", place=given, remedy=f"did you mean {near[0]!r}?"
        )
    return given, None


def column_overrides(
    source: str | None = None,
    target: str | None = None,
    *,
    weight: str | None = None,
    skip_bad: bool = False,
) -> Overrides:
    """Columns as a user names them, `COL` or `COL:KIND`, as a partial configuration."""
    chosen: Overrides = {}
    columns: Overrides = {"skip_bad": True} if skip_bad else {}
    for side, given in (("source", source), ("target", target)):
        if given is not None:
            name, kind = split_column(given)
            columns |= {} if name is None else {side: name}
            chosen = merge(chosen, {} if kind is None else {side: {"kind": kind}})
    columns |= {} if weight is None else {"weight": weight}
    return merge(chosen, {"data": columns} if columns else {})


def check_columns_bare(options: Mapping[str, Any]) -> None:
    """ConfigError where `data.source` or `data.target` carries a kind, which has its own option."""
    data = options.get("data")
    for side in ("source", "target"):
        given = data.get(side) if isinstance(data, Mapping) else None
        name, colon, kind = given.rpartition(":") if isinstance(given, str) else ("", "", "")
        if colon and kind in (*SOURCES.kinds(), *TARGETS.kinds()):
            raise ConfigError(
                f"{given!r} is a column and its kind, and the option takes the column alone",
                place=Setting(f"data.{side}"),
                remedy=Remedy("pass {}", Setting(side, given), otherwise=f"write {name!r}"),
            )
