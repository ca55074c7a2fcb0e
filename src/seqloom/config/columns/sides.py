"""The two columns of a row: any registered kind of source, and any of target."""

import difflib
from typing import Annotated

from seqloom.config.choices import Choice
from seqloom.config.columns.options import (
    SOURCES,
    TARGETS,
    ColumnOptions,
    SourceOptions,
    TargetOptions,
)
from seqloom.config.renames import RENAMED_VALUES
from seqloom.errors import ConfigError

__all__ = ["ColumnConfig", "SourceConfig", "TargetConfig", "split_column"]

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
