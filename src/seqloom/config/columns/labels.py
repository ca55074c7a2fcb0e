"""Columns of labels: one for a whole row, or one for each token of the source."""

from typing import ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import SOURCES, TARGETS, Situation, SourceOptions, TargetOptions
from seqloom.config.sections import Overrides
from seqloom.errors import ConfigError

__all__ = ["LabelConfig", "TagsConfig"]


@TARGETS.options("tags")
class TagsConfig(TargetOptions):
    """A column of space-separated tags, one for each token or step of the source (S1.1)."""

    source_unit: ClassVar[str] = "symbol"
    is_aligned: ClassVar[bool] = True

    kind: Literal["tags"] = "tags"

    def check_source(self, source: SourceOptions) -> None:
        """ConfigError if the source has no tokens or steps to tag."""
        if not source.has_positions:
            raise ConfigError(
                f"a source of kind {source.kind} and tags do not go together: a tag belongs to a "
                "token of a text or to a step of a sequence"
            )

    def head_defaults(self, situation: Situation) -> Overrides:
        """Two bidirectional layers, without pooling."""
        return self._reader(situation, {"kind": self.kind}, dropout=0.4, forget=0.1, layers=2)


@SOURCES.options("label")
@TARGETS.options("label")
class LabelConfig(SourceOptions, TargetOptions):
    """A column of class labels."""

    kind: Literal["label"] = "label"
    vocabulary: str = Field(
        "",
        description="file with one label per line, in the order of their ids; as a source, "
        "these are all its rows",
    )

    def data_defaults(self, situation: Situation) -> Overrides:
        """Many rows share a label, so rows are split individually."""
        return {"split": "row"}

    def text_data_defaults(self) -> Overrides:
        """Long texts are truncated in training as in use."""
        return {"overlong": "truncate"}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The label's embedding."""
        return {"encoder": {"kind": "vectors"}}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """Monitor the loss: a label has many correct outputs, so a metric of matches
        means little.
        """
        return {**usual, "monitor": "loss", "label_smoothing": 0.0}
