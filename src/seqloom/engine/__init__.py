"""Encoders and decoders made for use: the same numbers, with less work."""

from seqloom.engine.decoder import Engine, fast
from seqloom.engine.encoder import Reader, fast_reader

__all__ = ["Engine", "Reader", "fast", "fast_reader"]
