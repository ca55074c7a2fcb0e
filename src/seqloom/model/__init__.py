"""Encoders, decoders, heads, and the values that move between them."""

from seqloom.model.build import HeadedModel, Network, SequenceModel, build, build_writer
from seqloom.model.ctc import Aligner
from seqloom.model.embedding_tables import Reads, token_table
from seqloom.model.recurrent import carries
from seqloom.model.state import (
    Decoder,
    Encoder,
    Features,
    Feedback,
    Filling,
    Head,
    Memory,
    Source,
    State,
    Taught,
    Writing,
)

__all__ = [
    "Aligner",
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "Filling",
    "Head",
    "HeadedModel",
    "Memory",
    "Network",
    "Reads",
    "SequenceModel",
    "Source",
    "State",
    "Taught",
    "Writing",
    "build",
    "build_writer",
    "carries",
    "token_table",
]
