"""Time series: the input window and the forecast horizon."""

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
AUTOREGRESSIVE_WINDOW = 96  # for models that read step by step
LAGS = 48  # two days of hours
SMALL: Overrides = {  # a recurrent model whose steps read two days of hours
    "embedding": 64,
    "encoder": {"width": 64, "layers": 1, "direction": "forward"},
    "decoder": {"width": 64, "attention": {"kind": "none"}},
}
WIDTH = 256  # of the encoder's input, with a preset that has one
PERCEPTRON: Overrides = {"inner": 256, "dropout": 0.3}
WINDOW_BUDGET = 150_000  # windows in all epochs, unless three epochs have more
RECURRENT_WINDOW_BUDGET = 60_000
ROWS = 64  # windows in a batch
VALID_SHARE = 0.2


@TARGETS.options("series")
class HorizonConfig(TargetOptions):
    """The target of a forecast: columns of numbers over time (S1.2)."""

    kind: Literal["series"] = "series"
    horizon: Annotated[int, Field(ge=1, le=65_536)] = Field(
        24, description="forecast horizon in steps"
    )
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        (0.1, 0.9), description="quantiles to predict"
    )
    season: Count = Field(0, description="season in steps for the naive forecast; 0: detected")
    forced: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="autoregressive series: share of batches with teacher forcing (S6.3)",
    )

    known_columns: ClassVar[tuple[str, ...]] = ()  # forecast columns are not known ahead

    @property
    def steps(self) -> int:
        """Steps of a row."""
        return self.horizon

    @classmethod
    def complete(cls, overrides: Mapping[str, Any]) -> Overrides:
        """The source is a series unless another is named."""
        chosen = dict(overrides)
        source = chosen.get("source", {})
        if isinstance(source, Mapping):
            chosen["source"] = {"kind": "series", **source}
        return chosen

    def check_source(self, source: SourceOptions) -> None:
        """ConfigError if the source is not a series."""
        _check_pair(source, self)

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """The options as they are."""
        return {"kind": self.kind}

    def decoder_defaults(self, situation: Situation) -> Overrides:
        """By default all steps are forecast at once by a linear path and a perceptron; presets with
        a decoder forecast step by step.
        """
        direct = {"decoder": {"kind": "horizon", **PERCEPTRON}}
        return {**(direct if situation.preset == "auto" else {}), "tie_output": False}


@SOURCES.options("series")
class WindowConfig(SourceOptions):
    """The source of a forecast: a window of columns over time (S1.2)."""

    kind: Literal["series"] = "series"
    window: Annotated[int, Field(ge=2, le=65_536)] = Field(336, description="input window in steps")
    known: str = Field(
        "", description="columns known ahead of time, such as holidays, comma-separated"
    )

    quantiles: ClassVar[tuple[float, ...]] = ()  # inputs have no quantiles, ...
    forced: ClassVar[float] = 1.0  # ... and are observed

    @property
    def steps(self) -> int:
        """Steps of a row."""
        return self.window

    @property
    def known_columns(self) -> list[str]:
        """The columns that are known ahead of time."""
        return column_names(self.known)

    def check_target(self, target: TargetOptions) -> None:
        """ConfigError if the target is not a series."""
        _check_pair(self, target)

    def usual_preset(self, situation: Situation) -> str:
        """No preset: all steps are forecast at once."""
        return "auto"

    def data_defaults(self, situation: Situation) -> Overrides:
        """All columns are forecast, and the last rows are held out."""
        return {"source": "", "target": "all", "valid_share": VALID_SHARE}

    def reading_defaults(
        self, statistics: ColumnStatistics, situation: Situation, own: Any
    ) -> Overrides:
        """A window as long as the horizon, or longer if there are rows enough."""
        usual = WINDOW if situation.preset == "auto" else AUTOREGRESSIVE_WINDOW
        most = situation.facts.rows // 6
        ahead = _horizon(situation.target)
        return {"kind": self.kind, "window": max(2, min(usual, most), min(ahead, most))}

    def encoder_defaults(self, situation: Situation) -> Overrides:
        """The raw values; for presets with a decoder, layers over the last of them."""
        if situation.preset == "auto":
            return {"encoder": {"kind": "values"}, "embedding": WIDTH, "linear": True}
        small = SMALL if situation.preset in RECURRENT else {}
        return {**small, "lags": min(LAGS, self.window), "linear": True}

    def training_defaults(self, situation: Situation, usual: Overrides) -> Overrides:
        """Batches of windows, and epochs by the number of rows."""
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
    """The names in a comma-separated list."""
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
