"""Raw input to Output, with a finished model."""

from seqloom.engine.decoder import fast
from seqloom.engine.encoder import fast_reader
from seqloom.prediction.conversation import Conversation
from seqloom.prediction.decoding import Running, Waiting, sharing
from seqloom.prediction.ensemble import Predictor, together
from seqloom.prediction.forecast import Forecast
from seqloom.prediction.forecaster import Forecaster
from seqloom.prediction.head_predictor import Judge
from seqloom.prediction.image_grid import any_input, grid, grid_of
from seqloom.prediction.inputs import GROUP, Encoded, Group
from seqloom.prediction.mask_filler import Filler, Question, Told
from seqloom.prediction.output import Branch, Likely, Output, Stopped, Token
from seqloom.prediction.output_options import Wishes
from seqloom.prediction.request import Asked
from seqloom.prediction.text_predictor import ROWS, Model, Scored

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
