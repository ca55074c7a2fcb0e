"""Raw input to Output, with a finished model."""

from seqloom.prediction.model import GROUP, Model, Scored
from seqloom.prediction.output import Output, Token

__all__ = ["GROUP", "Model", "Output", "Scored", "Token"]
