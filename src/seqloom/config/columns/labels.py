"""Columns of labels: one for a whole row, or one for each token of the source."""

from typing import ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import SOURCES, TARGETS, Situation, SourceOptions, TargetOptions
from seqloom.config.sections import Overrides
from seqloom.errors import ConfigError

__all__ = ["LabelConfig", "TagsConfig"]


@TARGETS.options("tags")
class TagsConfig(TargetOptions):
    """A column of tags set apart by spaces: one for each token or step of the source (S1.1)."""

    source_unit: ClassVar[str] = "symbol"
    is_aligned: ClassVar[bool] = True

    kind: Literal["tags"] = "tags"

    def check_source(self, source: SourceOptions) -> None:
        """ConfigError where the source has nothing that a tag could belong to."""
        if not source.has_positions:
            raise ConfigError(
                f"a source of kind {source.kind} and tags do not go together: a tag belongs to a "
                "token of a text or to a step of a sequence"
            )

    def head_defaults(self, situation: Situation) -> Overrides:
        """Two layers that read from both ends, without a pool."""
        return self._reader(situation, {"kind": self.kind}, dropout=0.4, forget=0.1, layers=2)


@SOURCES.options("label")
@TARGETS.options("label")
class LabelConfig(SourceOptions, TargetOptions):
    """A column of labels: each cell is one of a few."""

    kind: Literal["label"] = "label"
    vocabulary: str = Field(
        "", description="file with a label a line, in that order; a source has no other rows"
    )

    def data_defaults(self, situation: Situation) -> Overrides:
        """Many rows share a label, so each row falls to a side by itself."""
        return {"split": "row"}

    def text_data_defaults(self) -> Overrides:
        """A long text is cut in training as it is in use."""
        return {"overlong": "truncate"}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The vector of the label itself."""
        return {"encoder": {"kind": "vectors"}}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """There are many texts for a label, and none is the answer: the loss decides."""
        return {**usual, "monitor": "loss", "label_smoothing": 0.0}
