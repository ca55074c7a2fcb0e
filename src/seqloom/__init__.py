"""Seqloom learns any mapping from sequences to sequences from your own examples.

    run = seqloom.train("pairs.tsv", run="runs/fr-en")
    model = seqloom.load("runs/fr-en")
    model("Elle était seule.").text

Names are imported when first used, so that `import seqloom` costs next to nothing.
"""

import gc
import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from seqloom.version import __version__ as __version__

if TYPE_CHECKING:
    from seqloom.api.describe import describe
    from seqloom.api.documents import DocumentRequest, predict_document
    from seqloom.api.estimators import (
        SequenceClassifier,
        SequenceForecaster,
        SequenceTagger,
        SequenceTransducer,
    )
    from seqloom.api.evaluate import evaluate
    from seqloom.api.load import load
    from seqloom.api.optimize import optimize
    from seqloom.api.train import train
    from seqloom.api.training_result import TrainingResult
    from seqloom.errors import SeqloomError
    from seqloom.prediction import (
        Conversation,
        Glossary,
        Output,
        OutputOptions,
        TextPredictor,
        ensemble,
        outputs_table,
    )
    from seqloom.search import (
        Beam,
        Completions,
        DiverseBeam,
        Exact,
        Greedy,
        MinimumRisk,
        PatientBeam,
        Ranking,
        Sample,
        StochasticBeam,
    )
    from seqloom.serving import Client

# OpenMP reads this when torch is loaded. Threads that wait for work sleep: spinning, they take the
# time of whatever else runs, six times as much in all where two trainings share two cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Without a network torch warns at each connection between ranks that an address has no name.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

__all__ = [
    "Beam",
    "Client",
    "Completions",
    "Conversation",
    "DiverseBeam",
    "DocumentRequest",
    "Exact",
    "Glossary",
    "Greedy",
    "MinimumRisk",
    "Output",
    "OutputOptions",
    "PatientBeam",
    "Ranking",
    "Sample",
    "SeqloomError",
    "SequenceClassifier",
    "SequenceForecaster",
    "SequenceTagger",
    "SequenceTransducer",
    "StochasticBeam",
    "TextPredictor",
    "TrainingResult",
    "describe",
    "ensemble",
    "evaluate",
    "load",
    "optimize",
    "outputs_table",
    "predict_document",
    "train",
]


_HOMES = {
    "Beam": "seqloom.search",
    "Client": "seqloom.serving",
    "Completions": "seqloom.search",
    "Conversation": "seqloom.prediction",
    "DiverseBeam": "seqloom.search",
    "DocumentRequest": "seqloom.api.documents",
    "Glossary": "seqloom.prediction",
    "Exact": "seqloom.search",
    "Greedy": "seqloom.search",
    "MinimumRisk": "seqloom.search",
    "TextPredictor": "seqloom.prediction",
    "Output": "seqloom.prediction",
    "PatientBeam": "seqloom.search",
    "Ranking": "seqloom.search",
    "Sample": "seqloom.search",
    "SeqloomError": "seqloom.errors",
    "StochasticBeam": "seqloom.search",
    "TrainingResult": "seqloom.api.training_result",
    "OutputOptions": "seqloom.prediction",
    "SequenceClassifier": "seqloom.api.estimators",
    "SequenceForecaster": "seqloom.api.estimators",
    "SequenceTagger": "seqloom.api.estimators",
    "SequenceTransducer": "seqloom.api.estimators",
    "describe": "seqloom.api.describe",
    "evaluate": "seqloom.api.evaluate",
    "load": "seqloom.api.load",
    "ensemble": "seqloom.prediction",
    "optimize": "seqloom.api.optimize",
    "outputs_table": "seqloom.prediction",
    "predict_document": "seqloom.api.documents",
    "train": "seqloom.api.train",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    return getattr(_import(_HOMES[name]), name)


def _import(name: str) -> ModuleType:
    """A module, imported without looking for garbage, which would take a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collecting:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
