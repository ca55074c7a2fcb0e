"""Columns of numbers: one, a vector, or a sequence of vectors."""

from typing import ClassVar, Literal

from seqloom.config.columns.media import FileOptions
from seqloom.config.columns.options import (
    SOURCES,
    TARGETS,
    Situation,
    SourceOptions,
    TargetOptions,
    longest,
)
from seqloom.config.sections import Overrides

__all__ = ["NumberConfig", "VectorConfig", "VectorSequenceConfig"]


@TARGETS.options("number")
class NumberConfig(TargetOptions):
    """A column of numbers, standardized."""

    kind: Literal["number"] = "number"

    def text_data_defaults(self) -> Overrides:
        """Long texts are truncated in training as in use."""
        return {"overlong": "truncate"}

    def head_defaults(self, situation: Situation) -> Overrides:
        """No dropout, which would shift the scale."""
        return self._reader(situation, {"kind": self.kind, "dropout": 0.0}, dropout=0.0, forget=0.0)


@SOURCES.options("vector")
class VectorConfig(SourceOptions):
    """A column of vectors of equal length, each dimension standardized."""

    kind: Literal["vector"] = "vector"

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The vector itself."""
        return {"encoder": {"kind": "vectors"}}


LONGEST_SEQUENCE = 4_096  # steps

BATCH_STEPS = 20_000


@SOURCES.options("vectors")
class VectorSequenceConfig(FileOptions):
    """A column of sequences of vectors of equal width, each dimension standardized.

    A cell is a list of numbers or of lists of numbers in JSON, or the name of an array file (.npy).
    With `data.window`, a sequence is a window of rows of a table over time (S1.1).
    """

    has_positions: ClassVar[bool] = True

    kind: Literal["vectors"] = "vectors"

    def usual_preset(self, situation: Situation) -> str:
        """Recurrent layers, which need fewer rows than a Transformer."""
        return "lstm"

    def data_defaults(self, situation: Situation) -> Overrides:
        """Cells are arrays, with a limit on steps."""
        tagged = {"aligned": True} if situation.target.is_aligned else {}
        return {"arrays": True, **tagged, **longest(LONGEST_SEQUENCE, situation)}

    def reader_defaults(self, situation: Situation) -> Overrides:
        """The target's defaults for a text source."""
        return situation.target.head_defaults(situation)

    def output_limits(self, room: int) -> Overrides:
        """Output limits from the data, whatever the number of steps read."""
        return {**super().output_limits(room), "max_ratio": 1e-6}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """The defaults of files, with batches sized in steps."""
        chosen = super().training_defaults(situation, usual)
        return {**chosen, "batch_tokens": BATCH_STEPS}
