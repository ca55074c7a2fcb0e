"""Encoders, decoders, heads, and the values that move between them."""

from seqloom.model.build import HeadModel, Network, SequenceModel, build, build_sequence_model
from seqloom.model.ctc import CTCLayer
from seqloom.model.embedding_tables import TokenSide, token_table
from seqloom.model.recurrent import has_fixed_size_state
from seqloom.model.state import (
    Decoder,
    Encoder,
    Features,
    Feedback,
    FillingHead,
    Head,
    Memory,
    Source,
    State,
    TeacherForcedHead,
    TokenScorer,
)

__all__ = [
    "CTCLayer",
    "Decoder",
    "Encoder",
    "Features",
    "Feedback",
    "FillingHead",
    "Head",
    "HeadModel",
    "Memory",
    "Network",
    "SequenceModel",
    "Source",
    "State",
    "TeacherForcedHead",
    "TokenScorer",
    "TokenSide",
    "build",
    "build_sequence_model",
    "has_fixed_size_state",
    "token_table",
]
