"""The composition root: train, load, evaluate, check; where the parts meet."""

from seqloom.run.check import check_data
from seqloom.run.console import Console
from seqloom.run.prepare import Request
from seqloom.run.train import Trained, train
from seqloom.run.use import Evaluation, describe, evaluate, load, score_rows

__all__ = [
    "Console",
    "Evaluation",
    "Request",
    "Trained",
    "check_data",
    "describe",
    "evaluate",
    "load",
    "score_rows",
    "train",
]
