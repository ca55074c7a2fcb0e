"""What `import seqloom` offers: train, load, evaluate, check, describe, compare, sweep, export."""

from seqloom.api.compare import Comparison, compare
from seqloom.api.console import Console
from seqloom.api.describe import check_data, describe
from seqloom.api.documents import (
    DocumentRequest,
    GlossaryEffect,
    evaluate_glossary,
    predict_document,
)
from seqloom.api.evaluate import SearchErrors, evaluate, score_rows, search_errors
from seqloom.api.interchange import export, import_run
from seqloom.api.load import load, load_text_predictor
from seqloom.api.optimize import MeasuredForm, Optimization, OptimizeRequest, optimize
from seqloom.api.report import report, write_report
from seqloom.api.sweep import SweepResult, Trial, sweep
from seqloom.api.train import train
from seqloom.api.training_result import TrainingResult
from seqloom.explain import plots
from seqloom.tasks import Evaluation, EvaluationResult

__all__ = [
    "Comparison",
    "Console",
    "DocumentRequest",
    "Evaluation",
    "EvaluationResult",
    "GlossaryEffect",
    "MeasuredForm",
    "Optimization",
    "OptimizeRequest",
    "SearchErrors",
    "SweepResult",
    "TrainingResult",
    "Trial",
    "check_data",
    "compare",
    "describe",
    "evaluate",
    "evaluate_glossary",
    "export",
    "import_run",
    "load",
    "load_text_predictor",
    "optimize",
    "plots",
    "predict_document",
    "report",
    "score_rows",
    "search_errors",
    "sweep",
    "train",
    "write_report",
]
