"""Metrics: how good outputs are, each as a value with its 95 % interval."""

from seqloom.metrics.likelihood import perplexity
from seqloom.metrics.match import accuracy
from seqloom.metrics.score import Score
from seqloom.metrics.text import text_scores

__all__ = ["Score", "accuracy", "perplexity", "text_scores"]
