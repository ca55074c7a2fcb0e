"""Seqloom learns any mapping from sequences to sequences from your own examples.

    run = seqloom.train("pairs.tsv", run="runs/fr-en")
    model = seqloom.load("runs/fr-en")
    model("Elle était seule.").text

Names are imported when first used, so that `import seqloom` costs next to nothing.
"""

import os
from typing import TYPE_CHECKING

from seqloom.deferred import deferred_names
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
else:
    __getattr__ = deferred_names(__name__)

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


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
