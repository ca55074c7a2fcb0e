"""Encoders, decoders, heads, and the values that move between them."""

from seqloom.model.build import HeadedModel, Network, SequenceModel, build, build_writer
from seqloom.model.recurrent import carries
from seqloom.model.state import (
    Decoder,
    Encoder,
    Features,
    Feedback,
    Head,
    Memory,
    Source,
    State,
    Taught,
)

__all__ = [
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "Head",
    "HeadedModel",
    "Memory",
    "Network",
    "SequenceModel",
    "Source",
    "State",
    "Taught",
    "build",
    "build_writer",
    "carries",
]
