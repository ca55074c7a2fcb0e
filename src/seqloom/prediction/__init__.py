"""Raw input to Output, with a finished model."""

from seqloom.prediction.model import Model, Scored
from seqloom.prediction.output import Output, Token

__all__ = ["Model", "Output", "Scored", "Token"]
