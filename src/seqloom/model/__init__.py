"""Encoders, decoders and heads, and the values passed between them."""

from seqloom.model.connections import Connection, ConnectionNode, Connections, unroll
from seqloom.model.ctc import CTCDecoder, CTCLayer, CTCState
from seqloom.model.encoders import mean_state
from seqloom.model.heads import BlanksHead, LabelHead, NumberHead, TagsHead
from seqloom.model.networks import (
    HeadModel,
    Network,
    SequenceModel,
    TokenSide,
    build,
    build_on_meta,
    build_sequence_model,
    token_table,
)
from seqloom.model.parts import (
    DecoderModule,
    DecoderSizes,
    EncoderModule,
    EncoderSizes,
    FrontEnd,
    Head,
    HeadContext,
)
from seqloom.model.recurrent import RecurrentDecoder
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
from seqloom.model.tag_decoder import FIRST_TAG, RecurrentTagsHead, TagDecoder
from seqloom.model.transformer import TransformerDecoder

__all__ = [
    "FIRST_TAG",
    "BlanksHead",
    "CTCDecoder",
    "CTCLayer",
    "CTCState",
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
    "RecurrentTagsHead",
    "SequenceModel",
    "Source",
    "State",
    "TagDecoder",
    "TagsHead",
    "TargetFeatures",
    "TokenScorer",
    "TokenSide",
    "TransformerDecoder",
    "build",
    "build_on_meta",
    "build_sequence_model",
    "mean_state",
    "token_table",
    "unroll",
]
