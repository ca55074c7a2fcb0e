"""Lessons on encoders and decoders: how one network reads and another writes."""

from seqloom.lessons.encoder_decoder import (
    output_feedback,
    sequence_probability,
    tensor_shapes,
    unit_chains,
)

__all__ = ["output_feedback", "sequence_probability", "tensor_shapes", "unit_chains"]
