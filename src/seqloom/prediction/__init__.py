"""Raw input to Output, with a finished model."""

from seqloom.prediction.engine import fast, fast_reader
from seqloom.prediction.model import GROUP, Model, Scored
from seqloom.prediction.output import Branch, Likely, Output, Stopped, Token
from seqloom.prediction.together import together
from seqloom.prediction.wishes import Wishes

__all__ = [
    "GROUP",
    "Branch",
    "Likely",
    "Model",
    "Output",
    "Scored",
    "Stopped",
    "Token",
    "Wishes",
    "fast",
    "fast_reader",
    "together",
]
