"""What a training says of itself on a terminal and in a notebook."""

import math

from seqloom.config import ColumnConfig, Config
from seqloom.runs.progress import Plan
from seqloom.training import Update

__all__ = ["RunningFigures", "plan_summary"]

NO_UNITS = {"none": "nothing"}  # columns that are made of nothing
SMOOTH = 0.95  # of what was shown before, in the running figures


class RunningFigures:
    """The loss and the speed of the newest updates, smoothed."""

    def __init__(self) -> None:
        self.loss = self.speed = math.nan

    def add(self, update: Update) -> None:
        """Take one more update into account."""
        self.loss = _blend(self.loss, update.loss)
        self.speed = _blend(self.speed, update.tokens / update.seconds)

    def __str__(self) -> str:
        return f"loss {self.loss:.3f} · {self.speed:,.0f} tokens/s"


def plan_summary(plan: Plan) -> str:
    """What is about to be trained, in a line."""
    config = plan.config
    return (
        f"{plan.rows:,} rows to learn from, {plan.held_out_rows:,} held out · "
        f"{_units(config)} · {_kinds(config)} model of "
        f"{plan.parameters:,} parameters · {config.training.updates:,} updates "
        f"of {config.training.batch_tokens:,} positions"
    )


def _blend(before: float, now: float) -> float:
    return now if math.isnan(before) else SMOOTH * before + (1 - SMOOTH) * now


def _kinds(config: Config) -> str:
    """The kinds of encoder and decoder, in one word where they are the same."""
    kinds = config.model.encoder.kind, config.model.decoder.kind
    return "-to-".join(dict.fromkeys(kind for kind in kinds if kind != "none"))


def _units(config: Config) -> str:
    source, target = _unit(config.source), _unit(config.target)
    return source if source == target else f"{source} to {target}"


def _unit(column: ColumnConfig) -> str:
    """What a column is made of, in a word."""
    unit: str = getattr(column, "unit", column.kind.rstrip("s"))
    return NO_UNITS.get(column.kind, f"{unit}s")
