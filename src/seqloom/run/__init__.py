"""The composition root: train, load, evaluate, check; where the parts meet."""

from seqloom.run.check import check_data
from seqloom.run.compare import Comparison, compare
from seqloom.run.console import Console
from seqloom.run.export import export
from seqloom.run.forecasts import SeriesEvaluation
from seqloom.run.prepare import Request
from seqloom.run.report import report, write_report
from seqloom.run.search_errors import SearchErrors, search_errors
from seqloom.run.sweep import Swept, Trial, sweep
from seqloom.run.train import Trained, train
from seqloom.run.use import Evaluation, describe, evaluate, load, load_writer, score_rows

__all__ = [
    "Comparison",
    "Console",
    "Evaluation",
    "Request",
    "SearchErrors",
    "SeriesEvaluation",
    "Swept",
    "Trained",
    "Trial",
    "check_data",
    "compare",
    "describe",
    "evaluate",
    "export",
    "load",
    "load_writer",
    "report",
    "score_rows",
    "search_errors",
    "sweep",
    "train",
    "write_report",
]
