"""Metrics: how good outputs are, each as a value with its 95 % interval."""

from seqloom.metrics.edit_rates import edit_distance, edit_scores
from seqloom.metrics.forecasts import Errors, error_scores, forecast_errors
from seqloom.metrics.labels import label_scores, tag_scores
from seqloom.metrics.likelihood import bits_per_character, nats_per_character, perplexity
from seqloom.metrics.match import accuracy, accuracy_from_counts
from seqloom.metrics.numbers import number_scores
from seqloom.metrics.registry import all_text_scores, leading_score, target_scores
from seqloom.metrics.score import Score
from seqloom.metrics.series_baselines import find_season, linear_forecast, ridge, seasonal_naive
from seqloom.metrics.text import text_scores

__all__ = [
    "Errors",
    "Score",
    "accuracy",
    "accuracy_from_counts",
    "all_text_scores",
    "bits_per_character",
    "edit_distance",
    "edit_scores",
    "error_scores",
    "find_season",
    "forecast_errors",
    "label_scores",
    "leading_score",
    "linear_forecast",
    "nats_per_character",
    "number_scores",
    "perplexity",
    "ridge",
    "seasonal_naive",
    "tag_scores",
    "target_scores",
    "text_scores",
]
