"""No source: a language model."""

from typing import ClassVar, Literal

from seqloom.config.columns.options import RECURRENT, SOURCES, Situation, SourceOptions
from seqloom.config.sections import Overrides

__all__ = ["NoColumnConfig"]


@SOURCES.options("none")
class NoColumnConfig(SourceOptions):
    """No column: the target is generated freely or from a prompt (S1.2)."""

    is_absent: ClassVar[bool] = True
    can_split: ClassVar[bool] = True

    kind: Literal["none"] = "none"

    def data_defaults(self, situation: Situation) -> Overrides:
        """One column, whose lines may be one stream."""
        whole = {"lines": "stream", "valid_rows": 20_000} if situation.stream else {}
        return {"source": "", "target": "1", **whole}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """No attention and a zero initial state."""
        alone = {"attention": {"kind": "none"}, "first_state": "zero"}
        decoder = alone if situation.preset in RECURRENT else {}
        return {"encoder": {"kind": "none"}, "decoder": decoder}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """Monitor the loss: generated text has no reference."""
        return {**usual, "monitor": "loss", "label_smoothing": 0.0}
