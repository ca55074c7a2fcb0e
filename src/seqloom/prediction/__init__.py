"""Raw input to Output, with a finished model."""

from seqloom.prediction.asked import Asked
from seqloom.prediction.conversation import Conversation
from seqloom.prediction.engine import fast, fast_reader
from seqloom.prediction.filling import Filler, Question, Told
from seqloom.prediction.forecast import Forecast
from seqloom.prediction.forecasting import Forecaster
from seqloom.prediction.judging import Judge
from seqloom.prediction.model import ROWS, Model, Scored
from seqloom.prediction.output import Branch, Likely, Output, Stopped, Token
from seqloom.prediction.reading import GROUP, Encoded, Group
from seqloom.prediction.running import Running, Waiting, sharing
from seqloom.prediction.sight import any_input, grid, grid_of
from seqloom.prediction.together import Predictor, together
from seqloom.prediction.wishes import Wishes

__all__ = [
    "GROUP",
    "ROWS",
    "Asked",
    "Branch",
    "Conversation",
    "Encoded",
    "Filler",
    "Forecast",
    "Forecaster",
    "Group",
    "Judge",
    "Likely",
    "Model",
    "Output",
    "Predictor",
    "Question",
    "Running",
    "Scored",
    "Stopped",
    "Token",
    "Told",
    "Waiting",
    "Wishes",
    "any_input",
    "fast",
    "fast_reader",
    "grid",
    "grid_of",
    "sharing",
    "together",
]
