"""Columns of numbers, and of rows of numbers."""

from typing import Literal

from seqloom.config.columns.options import (
    SOURCES,
    TARGETS,
    Situation,
    SourceOptions,
    TargetOptions,
)
from seqloom.config.sections import Overrides

__all__ = ["NumberConfig", "VectorConfig"]


@TARGETS.options("number")
class NumberConfig(TargetOptions):
    """A column of numbers, which are learnt in units of their spread."""

    kind: Literal["number"] = "number"

    def text_data_defaults(self) -> Overrides:
        """A long text is cut in training as it is in use."""
        return {"overlong": "truncate"}

    def head_defaults(self, situation: Situation) -> Overrides:
        """Nothing is left out at random, which would shift the scale."""
        return self._reader(situation, {"kind": self.kind, "dropout": 0.0}, dropout=0.0, forget=0.0)


@SOURCES.options("vector")
class VectorConfig(SourceOptions):
    """A column of rows of numbers, all of one length, each learnt in units of its spread."""

    kind: Literal["vector"] = "vector"

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The vector itself."""
        return {"encoder": {"kind": "vectors"}}
