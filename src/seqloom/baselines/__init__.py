"""Simple rules learnt from the same training rows, which a model must beat."""

from seqloom.baselines.labels import BASELINES, Baseline, TrainingRows

__all__ = ["BASELINES", "Baseline", "TrainingRows"]
