"""Encoders and decoders made for use: the same numbers, with less work."""

from seqloom.engine.torch_twin.decoder import DecoderEngine, fast_decoder
from seqloom.engine.torch_twin.encoder import EncoderEngine, fast_encoder

__all__ = ["DecoderEngine", "EncoderEngine", "fast_decoder", "fast_encoder"]
