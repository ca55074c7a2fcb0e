"""What follows from a source of several columns (S8)."""

from collections.abc import Mapping
from typing import Any

from seqloom.config.serialization import Overrides
from seqloom.config.series_defaults import is_forecast

__all__ = ["with_turns"]


def with_turns(overrides: Mapping[str, Any]) -> Overrides:
    """The options with turns as source, where it is several columns and no kind is named."""
    chosen = dict(overrides)
    data, source = chosen.get("data", {}), chosen.get("source", {})
    several = isinstance(data, Mapping) and "," in str(data.get("source", ""))
    if several and isinstance(source, Mapping) and not is_forecast(overrides):
        chosen["source"] = {"kind": "turns", **source}
    return chosen
