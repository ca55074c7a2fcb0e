"""What to choose where gaps of a text are filled in: one column, and a model that looks around."""

import reprlib
from collections.abc import Mapping
from typing import Any

from seqloom.config.columns import BlanksConfig, TextConfig, TurnsConfig
from seqloom.config.encoders import RecurrentEncoderConfig
from seqloom.config.presets import TRANSFORMERS
from seqloom.config.schema import Config
from seqloom.config.serialization import Overrides, merge
from seqloom.errors import ConfigError

__all__ = [
    "BLANK_TOKEN_BUDGET",
    "blank_defaults",
    "check_blanks",
    "masking_shares",
    "one_column",
    "with_blanks",
]

LONGEST_MARKER = 32
UNITS = ("character", "word", "symbol")  # what a gap may stand for
SIZES = ((100_000, 128), (2_000_000, 320), (20_000_000, 512))  # words, and a width they repay
BLANK_TOKEN_BUDGET = 7_500_000  # tokens in all passes, as far as there are not more in two
UNMASKED_SHARE = 0.95  # of the tokens around, where an encoder never shows a position itself


def with_blanks(overrides: Mapping[str, Any]) -> Overrides:
    """The options with one column for both sides, where gaps are to be filled in."""
    target = overrides.get("target")
    kind = target.get("kind") if isinstance(target, Mapping) else target
    data = overrides.get("data", {})
    if kind != "gaps" or not isinstance(data, Mapping):
        return dict(overrides)
    return merge(overrides, {"data": one_column(data)})


def one_column(data: Mapping[str, Any]) -> Overrides:
    """The column that is named on one side, on both; the first where none is."""
    named = {side: data[side] for side in ("source", "target") if side in data}
    column = next(iter(named.values()), "1")
    return {"source": column, "target": column, **named}


def check_blanks(config: Config) -> None:
    """ConfigError where gaps are asked for and cannot be had of such a source."""
    if not isinstance(config.target, BlanksConfig):
        return
    source, target = config.source, config.target
    if not isinstance(source, TextConfig) or isinstance(source, TurnsConfig):
        raise ConfigError(
            f"a source of kind {source.kind} and gaps do not go together: gaps are tokens of a text"
        )
    if config.data.source != config.data.target:
        raise ConfigError(
            "gaps are filled in from the text that they are in: name its column with --source, and "
            "say --target gaps"
        )
    if source.unit not in UNITS or source.spelling:
        unit = "letters of its own" if source.spelling else f"unit {source.unit}"
        raise ConfigError(
            f"a gap cannot stand for a token of {unit}: set source.unit to {', '.join(UNITS[:-1])} "
            f"or {UNITS[-1]}, and source.spelling=0"
        )
    _check_options(target)


def _check_options(target: BlanksConfig) -> None:
    marker = target.marker
    if not marker or "\\" in marker or marker.split() != [marker] or len(marker) > LONGEST_MARKER:
        raise ConfigError(
            f"target.marker = {reprlib.repr(marker)}: a gap is marked by up to {LONGEST_MARKER} "
            "characters, none of them white space or a backslash; write ___, say"
        )
    if target.kept + target.replaced > 1:
        raise ConfigError(
            f"target.kept = {target.kept:g} and target.replaced = {target.replaced:g} are shares "
            "of one whole: lower one of them"
        )


def blank_defaults(preset: str, words: float) -> Overrides:
    """A model of so many words whose output layer is the table of token vectors: presets of
    Transformers as they are, and else layers that look around each position."""
    width = next((width for limit, width in SIZES if words < limit), 768)
    dropout = 0.3 if words < 200_000 else 0.2
    model: Overrides = {"decoder": {"kind": "gaps", "dropout": dropout}, "tie_output": True}
    if preset not in TRANSFORMERS:
        unit = "lstm" if preset == "auto" else preset
        encoder = {"kind": "recurrent", "unit": {"kind": unit}, "direction": "around", "layers": 2}
        model |= {"embedding": width, "encoder": {**encoder, "width": width, "dropout": dropout}}
    batch, precision = (1_024, "float32") if words < 200_000 else (2_048, "auto")
    training = {"label_smoothing": 0.0, "batch_tokens": batch, "precision": precision}
    return {"model": model, "training": training}


def masking_shares(config: Config) -> Overrides:
    """How tokens are left out: all are asked for at once, and most are read, where no position is
    shown itself; elsewhere a few, none of which is read."""
    match config.target, config.model.encoder:
        case BlanksConfig(), RecurrentEncoderConfig(direction="around"):
            return {"target": {"kind": "gaps", "share": 1.0, "kept": UNMASKED_SHARE}}
        case _:
            return {}
