"""Blanks: masked tokens of a text, predicted from their context."""

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import (
    GENERATION_PASSES,
    TARGETS,
    TRANSFORMERS,
    Situation,
    TargetOptions,
)
from seqloom.config.columns.text import TextConfig
from seqloom.config.sections import Overrides, merge
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

if TYPE_CHECKING:
    from seqloom.config.architecture.encoders import EncoderOptions
    from seqloom.config.schema import Config

__all__ = ["BlanksConfig", "one_column"]

LONGEST_MARKER = 32
UNITS = ("character", "word", "symbol")  # units that a blank may stand for
SIZES = (
    (100_000, 128),
    (2_000_000, 320),
    (20_000_000, 512),
)  # (number of words, width worth using from there on)
TOKEN_BUDGET = 7_500_000  # tokens in all epochs, unless two epochs have more
UNMASKED_SHARE = 0.95  # of tokens, for encoders that hide each position from itself


@TARGETS.options("blanks")
class BlanksConfig(TargetOptions):
    """Masked tokens of the source, predicted from their context (S8, fill-in)."""

    reads_any_case: ClassVar[bool] = False

    kind: Literal["blanks"] = "blanks"
    marker: str = Field(
        "___",
        description="marker of a blank in inputs; if it repeats one character, any two or more "
        "of it; literal after a backslash",
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.15, description="share of tokens predicted in an update"
    )
    kept: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="of these, the share left unchanged, ..."
    )
    replaced: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="... and the share replaced by a random token; the rest are masked"
    )

    @classmethod
    def complete(cls, overrides: Mapping[str, Any]) -> Overrides:
        """Use one column as source and target."""
        chosen = super().complete(overrides)
        data = chosen.get("data", {})
        return merge(chosen, {"data": one_column(data)}) if isinstance(data, Mapping) else chosen

    def source_vocabulary(self, unit: str, *, kept: bool) -> Overrides:
        """A large vocabulary: unknown words cannot be predicted."""
        return {"size": 50_000}

    def head_defaults(self, situation: Situation) -> Overrides:
        """A model for so many words with tied embeddings: Transformer presets unchanged, otherwise
        recurrent layers on both sides of each position.
        """
        preset, words = situation.preset, situation.words
        width = next((width for limit, width in SIZES if words < limit), 768)
        dropout = 0.3 if words < 200_000 else 0.2
        model: Overrides = {"decoder": {"kind": self.kind, "dropout": dropout}, "tie_output": True}
        if preset not in TRANSFORMERS:
            unit = "lstm" if preset == "auto" else preset
            encoder = {"kind": "recurrent", "unit": {"kind": unit}, "direction": "around"}
            sizes = {"layers": 2, "width": width, "dropout": dropout}
            model |= {"embedding": width, "encoder": {**encoder, **sizes}}
        batch, precision = (1_024, "float32") if words < 200_000 else (2_048, "auto")
        training = {"label_smoothing": 0.0, "batch_tokens": batch, "precision": precision}
        return {"model": model, "training": training}

    def masking_defaults(self, encoder: "EncoderOptions") -> Overrides:
        """Predict all tokens at once if the encoder hides each position from itself; otherwise mask
        and predict a few.
        """
        if not encoder.hides_each_position:
            return {}
        return {"target": {"kind": self.kind, "share": 1.0, "kept": UNMASKED_SHARE}}

    def passes(self, situation: Situation) -> float:
        """The number of epochs for so many tokens."""
        return min(GENERATION_PASSES, max(2.0, TOKEN_BUDGET / situation.tokens))

    def check_config(self, config: "Config") -> None:
        """ConfigError if the source has no blanks, or options contradict."""
        source = config.source
        if not isinstance(source, TextConfig) or source.has_several_texts:
            raise ConfigError(
                f"a source of kind {source.kind} and blanks do not go together: blanks are tokens "
                "of a text"
            )
        if config.data.source != config.data.target:
            raise ConfigError(
                "blanks are filled in from the text that they are in",
                remedy=Remedy(
                    "name its column with {}, and say {}",
                    Setting("data.source"),
                    Setting("target.kind", "blanks"),
                ),
            )
        if source.unit not in UNITS or source.spelling:
            unit = "letters of its own" if source.spelling else f"unit {source.unit}"
            raise ConfigError(
                f"a blank cannot stand for a token of {unit}",
                remedy=(
                    f"set source.unit to {', '.join(UNITS[:-1])} or {UNITS[-1]}, and "
                    "source.spelling=0"
                ),
            )
        self._check_options()

    def _check_options(self) -> None:
        marker = self.marker
        split = marker.split() != [marker]
        if not marker or "\\" in marker or split or len(marker) > LONGEST_MARKER:
            raise ConfigError(
                f"target.marker = {reprlib.repr(marker)}: a blank is marked by up to "
                f"{LONGEST_MARKER} characters, none of them white space or a backslash",
                remedy="write ___, say",
            )
        if self.kept + self.replaced > 1:
            raise ConfigError(
                f"target.kept = {self.kept:g} and target.replaced = {self.replaced:g} are shares "
                "of one whole",
                remedy="lower one of them",
            )


def one_column(data: Mapping[str, Any]) -> Overrides:
    """Use the column named on one side for both; the first one if none is named."""
    named = {side: data[side] for side in ("source", "target") if side in data}
    column = next(iter(named.values()), "1")
    return {"source": column, "target": column, **named}
