"""Encoders and decoders made for use: the same numbers, with less work."""

from seqloom.torch_engine.decoder import DecoderEngine, fast_decoder
from seqloom.torch_engine.encoder import EncoderEngine, fast_encoder

__all__ = ["DecoderEngine", "EncoderEngine", "fast_decoder", "fast_encoder"]
