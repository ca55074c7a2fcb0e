"""Encoders, decoders, and the values that move between them."""

from seqloom.model.build import SequenceModel, build
from seqloom.model.state import Decoder, Encoder, Features, Memory, Source, State

__all__ = [
    "Decoder",
    "Encoder",
    "Features",
    "Memory",
    "SequenceModel",
    "Source",
    "State",
    "build",
]
