"""Columns of numbers over time: the window that is read, and the horizon that is forecast."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from seqloom.config.columns.options import (
    RECURRENT,
    SOURCES,
    TARGETS,
    ColumnOptions,
    ColumnStatistics,
    Situation,
    SourceOptions,
    TargetOptions,
)
from seqloom.config.sections import Count, Overrides
from seqloom.errors import ConfigError
from seqloom.remedies import Remedy, Setting

__all__ = ["HorizonConfig", "SeriesConfig", "WindowConfig", "column_names"]

WINDOW = 504  # three weeks of hours
AUTOREGRESSIVE_WINDOW = 96  # where every step costs as much as the last
LAGS = 48  # two days of hours
SMALL: Overrides = {  # a recurrent model to which two days, which each step reads, tell most
    "embedding": 64,
    "encoder": {"width": 64, "layers": 1, "direction": "forward"},
    "decoder": {"width": 64, "attention": {"kind": "none"}},
}
WIDTH = 256  # of what an encoder reads, where one is chosen
PERCEPTRON: Overrides = {"inner": 256, "dropout": 0.3}
WINDOW_BUDGET = 150_000  # windows in all passes, as far as there are not more in 3
RECURRENT_WINDOW_BUDGET = 60_000
ROWS = 64  # windows in a batch
VALID_SHARE = 0.2


@TARGETS.options("series")
class HorizonConfig(TargetOptions):
    """Columns of numbers over time, which are forecast (S1.2)."""

    kind: Literal["series"] = "series"
    horizon: Annotated[int, Field(ge=1, le=65_536)] = Field(
        24, description="steps that are forecast"
    )
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        (0.1, 0.9), description="shares of the outcomes below each edge of the bands"
    )
    season: Count = Field(
        0, description="steps after which it repeats, for the naive forecast; 0 finds them"
    )
    forced: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="series fed back: share of the batches in which each step reads the true value "
        "before it, and not the model's own (S6.3)",
    )

    known_columns: ClassVar[tuple[str, ...]] = ()  # what is forecast is not known ahead

    @property
    def steps(self) -> int:
        """Steps of a row."""
        return self.horizon

    @classmethod
    def complete(cls, overrides: Mapping[str, Any]) -> Overrides:
        """A series is forecast from series, where no other source is named."""
        chosen = dict(overrides)
        source = chosen.get("source", {})
        if isinstance(source, Mapping):
            chosen["source"] = {"kind": "series", **source}
        return chosen

    def check_source(self, source: SourceOptions) -> None:
        """ConfigError where the source is no series."""
        _check_pair(source, self)

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """The options as they are."""
        return {"kind": self.kind}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """By default all steps are forecast at once, by the linear path and a perceptron; presets
        that write do it step by step."""
        direct = {"decoder": {"kind": "horizon", **PERCEPTRON}}
        return {**(direct if situation.preset == "auto" else {}), "tie_output": False}


@SOURCES.options("series")
class WindowConfig(SourceOptions):
    """Columns of numbers over time, of which the last steps are read (S1.2)."""

    kind: Literal["series"] = "series"
    window: Annotated[int, Field(ge=2, le=65_536)] = Field(
        336, description="steps that are read before a forecast"
    )
    known: str = Field(
        "", description="columns known ahead of time, such as holidays, set apart by commas"
    )

    quantiles: ClassVar[tuple[float, ...]] = ()  # what is read has no bands, ...
    forced: ClassVar[float] = 1.0  # ... and is true

    @property
    def steps(self) -> int:
        """Steps of a row."""
        return self.window

    @property
    def known_columns(self) -> list[str]:
        """The columns that are known ahead of time."""
        return column_names(self.known)

    def check_target(self, target: TargetOptions) -> None:
        """ConfigError where the target is no series."""
        _check_pair(self, target)

    def usual_preset(self, *, stream: bool) -> str:
        """None: all steps are forecast at once."""
        return "auto"

    def data_defaults(self, situation: Situation) -> Overrides:
        """Every column is forecast, and the last rows are held out."""
        return {"source": "", "target": "all", "valid_share": VALID_SHARE}

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """A window that is as long as the horizon, and longer where there are rows enough."""
        usual = WINDOW if situation.preset == "auto" else AUTOREGRESSIVE_WINDOW
        most = situation.facts.rows // 6
        ahead = _horizon(situation.target)
        return {"kind": self.kind, "window": max(2, min(usual, most), min(ahead, most))}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The values themselves; for presets that write, layers that read the last of them."""
        if situation.preset == "auto":
            return {"encoder": {"kind": "values"}, "embedding": WIDTH, "linear": True}
        small = SMALL if situation.preset in RECURRENT else {}
        return {**small, "lags": min(LAGS, self.window), "linear": True}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """Batches of some windows, and as many passes over them as so many rows repay."""
        rows, settled, decoder = situation.facts.rows, situation.training, situation.decoder
        batch = settled.get("batch_rows") or ROWS
        seen = RECURRENT_WINDOW_BUDGET if decoder == "recurrent" else WINDOW_BUDGET
        passes = min(60.0, max(3.0, seen / rows))
        updates = settled.get("updates", max(300, round(passes * rows / batch / 100) * 100))
        return {
            "updates": updates,
            "batch_rows": batch,
            "batch_tokens": batch * max(self.window, _horizon(situation.target)),
            "rate": 3e-4 if decoder == "horizon" else 2e-3,
            "average": "moving" if decoder == "horizon" else "none",
            "warmup": min(200, updates // 10),
            "validate_every": max(20, min(500, updates // 15)),
            "workers": 1,
        }


SeriesConfig = WindowConfig | HorizonConfig


def column_names(given: str) -> list[str]:
    """The names in a list that is set apart by commas."""
    return [name.strip() for name in given.split(",") if name.strip()]


def _horizon(target: ColumnOptions) -> int:
    return target.horizon if isinstance(target, HorizonConfig) else 1


def _check_pair(source: SourceOptions, target: TargetOptions) -> None:
    if source.kind != target.kind:
        raise ConfigError(
            f"a source of kind {source.kind} and a target of kind {target.kind} do not go "
            "together, as a series is forecast from series alone",
            remedy=Remedy(
                "leave {} out, or read sequences of numbers with {}",
                Setting("data.source"),
                Setting("source.kind", "vectors"),
            ),
        )
