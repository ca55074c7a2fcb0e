"""Metrics: how good outputs are, each as a value with its 95 % interval."""

from seqloom.metrics.kinds import leading, target_scores
from seqloom.metrics.labels import label_scores, tag_scores
from seqloom.metrics.likelihood import perplexity
from seqloom.metrics.match import accuracy
from seqloom.metrics.numbers import number_scores
from seqloom.metrics.score import Score
from seqloom.metrics.text import text_scores

__all__ = [
    "Score",
    "accuracy",
    "label_scores",
    "leading",
    "number_scores",
    "perplexity",
    "tag_scores",
    "target_scores",
    "text_scores",
]
