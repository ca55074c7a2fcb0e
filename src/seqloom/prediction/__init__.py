"""Raw input to Output, with a finished model."""

from seqloom.prediction.engine import fast, fast_reader
from seqloom.prediction.judging import Judge
from seqloom.prediction.model import Model, Scored
from seqloom.prediction.output import Branch, Likely, Output, Stopped, Token
from seqloom.prediction.reading import GROUP
from seqloom.prediction.together import Predictor, together
from seqloom.prediction.wishes import Wishes

__all__ = [
    "GROUP",
    "Branch",
    "Judge",
    "Likely",
    "Model",
    "Output",
    "Predictor",
    "Scored",
    "Stopped",
    "Token",
    "Wishes",
    "fast",
    "fast_reader",
    "together",
]
