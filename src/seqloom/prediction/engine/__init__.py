"""Encoders and decoders made for use: the same numbers, with less work."""

from seqloom.prediction.engine.reader import Reader, fast_reader
from seqloom.prediction.engine.writer import Engine, fast

__all__ = ["Engine", "Reader", "fast", "fast_reader"]
