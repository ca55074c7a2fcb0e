"""What to choose for a series when nothing is chosen (S1.2)."""

from collections.abc import Mapping
from typing import Any

from seqloom.config.columns import HorizonConfig, WindowConfig
from seqloom.config.presets import RECURRENT
from seqloom.config.schema import Config
from seqloom.config.serialization import Overrides, merge
from seqloom.errors import ConfigError

__all__ = ["is_forecast", "series_defaults", "series_training", "with_series"]

WINDOW = 336  # a fortnight of hours
AUTOREGRESSIVE_WINDOW = 96  # where every step costs as much as the last
LAGS = 48  # two days of hours
SMALL: Overrides = {  # a recurrent model to which two days, which each step reads, tell most
    "embedding": 64,
    "encoder": {"width": 64, "layers": 1, "direction": "forward"},
    "decoder": {"width": 64, "attention": {"kind": "none"}},
}
WINDOW_BUDGET, RECURRENT_WINDOW_BUDGET = (
    150_000,
    60_000,
)  # windows in all passes, as far as there are not more in 3
ROWS = 64  # windows in a batch
VALID_SHARE = 0.2


def is_forecast(overrides: Mapping[str, Any]) -> bool:
    """Whether these options ask for a series to be forecast."""
    target = overrides.get("target")
    return (target.get("kind") if isinstance(target, Mapping) else target) == "series"


def with_series(overrides: Mapping[str, Any]) -> Overrides:
    """The options with a series as source, where a series is forecast and no other is named."""
    chosen = dict(overrides)
    source = chosen.get("source", {})
    if is_forecast(overrides) and isinstance(source, Mapping):
        chosen["source"] = {"kind": "series", **source}
    return chosen


def series_defaults(rows: int, asked: Config, preset: str) -> Overrides:
    """Columns, window, model and training for so many rows of a series.

    By default the forecast is linear and made at once; presets that write do it step by step.
    """
    if not isinstance(asked.target, HorizonConfig) or not isinstance(asked.source, WindowConfig):
        raise ConfigError(
            f"a source of kind {asked.source.kind} and a target of kind {asked.target.kind} do not "
            "go together: a series is forecast from series alone, so leave --source out"
        )
    stepped = preset != "auto"
    horizon = asked.target.horizon
    window = max(
        2, min(AUTOREGRESSIVE_WINDOW if stepped else WINDOW, rows // 6), min(horizon, rows // 6)
    )
    chosen: Overrides = {
        "data": {"source": "", "target": "all", "valid_share": VALID_SHARE},
        "source": {"kind": "series", "window": window},
        "target": {"kind": "series"},
        "model": {"share_vocabulary": False, "tie_output": False},
    }
    if not stepped:
        direct = {"encoder": {"kind": "values"}, "decoder": {"kind": "horizon"}}
        return merge(chosen, {"model": direct})
    read = asked.source.window if "window" in asked.source.model_fields_set else window
    small = SMALL if preset in RECURRENT else {}
    return merge(chosen, {"model": {**small, "lags": min(LAGS, read)}})


def series_training(rows: int, asked: Config, own: Mapping[str, Any]) -> Overrides:
    """Batches of some windows, and as many passes over them as so many rows repay."""
    if not isinstance(asked.target, HorizonConfig) or not isinstance(asked.source, WindowConfig):
        return {}
    longer = max(asked.source.window, asked.target.horizon)
    batch = own.get("batch_rows") or ROWS
    decoder = asked.model.decoder.kind
    seen = RECURRENT_WINDOW_BUDGET if decoder == "recurrent" else WINDOW_BUDGET
    passes = min(60.0, max(3.0, seen / rows))
    updates = own.get("updates", max(300, round(passes * rows / batch / 100) * 100))
    return {
        "updates": updates,
        "batch_rows": batch,
        "batch_tokens": batch * longer,
        "rate": 1e-3 if decoder == "horizon" else 2e-3,
        "warmup": min(200, updates // 10),
        "validate_every": max(20, min(500, updates // 15)),
        "workers": 1,
    }
