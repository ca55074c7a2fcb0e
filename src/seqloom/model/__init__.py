"""Encoders, decoders, heads, and the values that move between them."""

from seqloom.model.aligner import Aligner
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
from seqloom.model.tables import Reads, token_table

__all__ = [
    "Aligner",
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "Head",
    "HeadedModel",
    "Memory",
    "Network",
    "Reads",
    "SequenceModel",
    "Source",
    "State",
    "Taught",
    "build",
    "build_writer",
    "carries",
    "token_table",
]
