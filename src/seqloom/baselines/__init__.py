"""Baselines: simple rules learnt from the same training rows, which a model must beat."""

from seqloom.baselines import endings, grams, numbers, texts
from seqloom.baselines.labels import BASELINES, Baseline, TrainingRows

__all__ = ["BASELINES", "Baseline", "TrainingRows", "endings", "grams", "numbers", "texts"]
