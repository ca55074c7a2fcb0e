"""Encoders, decoders, heads, and the values that move between them."""

from seqloom.model.build import build, build_sequence_model
from seqloom.model.connections import Connection, ConnectionNode, Connections, unroll
from seqloom.model.ctc import CTCLayer
from seqloom.model.embedding_tables import TokenSide, token_table
from seqloom.model.encoders import mean_state
from seqloom.model.heads import BlanksHead, LabelHead, NumberHead, TagsHead
from seqloom.model.networks import HeadModel, Network, SequenceModel
from seqloom.model.parts import DecoderModule, EncoderModule, FrontEnd, Head
from seqloom.model.recurrent import RecurrentDecoder
from seqloom.model.sizes import DecoderSizes, EncoderSizes, HeadContext
from seqloom.model.state import (
    Decoder,
    Encoder,
    Features,
    Feedback,
    FillingHead,
    Memory,
    Source,
    State,
    TargetFeatures,
    TokenScorer,
)
from seqloom.model.transformer import TransformerDecoder

__all__ = [
    "BlanksHead",
    "CTCLayer",
    "Connection",
    "ConnectionNode",
    "Connections",
    "Decoder",
    "DecoderModule",
    "DecoderSizes",
    "Encoder",
    "EncoderModule",
    "EncoderSizes",
    "Features",
    "Feedback",
    "FillingHead",
    "FrontEnd",
    "Head",
    "HeadContext",
    "HeadModel",
    "LabelHead",
    "Memory",
    "Network",
    "NumberHead",
    "RecurrentDecoder",
    "SequenceModel",
    "Source",
    "State",
    "TagsHead",
    "TargetFeatures",
    "TokenScorer",
    "TokenSide",
    "TransformerDecoder",
    "build",
    "build_sequence_model",
    "mean_state",
    "token_table",
    "unroll",
]
