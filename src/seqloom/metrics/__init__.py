"""Metrics: functions of outputs and references, with their direction and 95 % interval."""

from seqloom.metrics.calibration import CalibrationError, Reliability, fit_temperature
from seqloom.metrics.class_report import ClassReport, ClassScore, label_report, span_report
from seqloom.metrics.confusion import ConfusionMatrix
from seqloom.metrics.forecast_tables import ColumnErrors, StepErrors
from seqloom.metrics.forecasts import (
    ErrorTable,
    ForecastErrors,
    SeriesScale,
    seasonal_naive_error,
)
from seqloom.metrics.labels import Accuracy, accuracy_from_counts
from seqloom.metrics.likelihood import (
    Likelihoods,
    bits_per_character,
    nats_per_character,
    perplexity,
)
from seqloom.metrics.metric import (
    METRICS,
    NO_INTERVAL,
    Direction,
    Interval,
    Metric,
    Score,
    SumMetric,
    baseline_ahead,
    lower_is_better,
    metrics_for,
    score_all,
)
from seqloom.metrics.numbers import RSquared
from seqloom.metrics.predictions import Predictions, target_scores
from seqloom.metrics.seasons import calendar_periods, find_season
from seqloom.metrics.series_baselines import linear_forecast, ridge, ridge_path, seasonal_naive
from seqloom.metrics.span_scores import SpanF1
from seqloom.metrics.spans import Span, TagScheme, detect_scheme, find_spans
from seqloom.metrics.text import ExactMatch, WordErrorRate, edit_distance

__all__ = [
    "METRICS",
    "NO_INTERVAL",
    "Accuracy",
    "CalibrationError",
    "ClassReport",
    "ClassScore",
    "ColumnErrors",
    "ConfusionMatrix",
    "Direction",
    "ErrorTable",
    "ExactMatch",
    "ForecastErrors",
    "Interval",
    "Likelihoods",
    "Metric",
    "Predictions",
    "RSquared",
    "Reliability",
    "Score",
    "SeriesScale",
    "Span",
    "SpanF1",
    "StepErrors",
    "SumMetric",
    "TagScheme",
    "WordErrorRate",
    "accuracy_from_counts",
    "baseline_ahead",
    "bits_per_character",
    "calendar_periods",
    "detect_scheme",
    "edit_distance",
    "find_season",
    "find_spans",
    "fit_temperature",
    "label_report",
    "linear_forecast",
    "lower_is_better",
    "metrics_for",
    "nats_per_character",
    "perplexity",
    "ridge",
    "ridge_path",
    "score_all",
    "seasonal_naive",
    "seasonal_naive_error",
    "span_report",
    "target_scores",
]
