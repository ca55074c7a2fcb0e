"""Checks common to all text runtimes."""

from seqloom.errors import ConfigError
from seqloom.fields import TextField, as_text_field
from seqloom.prediction import Predictor, TextPredictor
from seqloom.remedies import Command, Remedy, Setting

__all__ = ["no_counterpart", "require_text_source", "require_writer"]


def no_counterpart(runtime: str, option: str, value: object, *, beside: str = "") -> ConfigError:
    """The error for an option without a counterpart in a runtime, possibly due to another
    option.
    """
    because = f" beside {beside}" if beside else ""
    return ConfigError(
        f"{option} = {value!r}{because} has no counterpart there",
        place=Setting("to", runtime),
        remedy=Remedy("use the model with {}, or choose another runtime", Command("predict")),
    )


def require_writer(model: Predictor, runtime: str) -> TextPredictor:
    """The model if it outputs text; ConfigError for any other."""
    writer = model.as_text_predictor()
    if writer is None:
        raise ConfigError(
            f"takes models that write text, and this one gives {model.target.describe()}",
            place=Setting("to", runtime),
            remedy="choose another runtime",
        )
    return writer


def require_text_source(model: TextPredictor, runtime: str) -> TextField:
    """The source field if it is text; ConfigError for any other."""
    field = as_text_field(model.source)
    if field is None or field.has_turns:
        raise ConfigError(
            f"a source of {model.source.describe()} cannot be exported, only text",
            place=Setting("to", runtime),
            remedy="choose another runtime",
        )
    return field
