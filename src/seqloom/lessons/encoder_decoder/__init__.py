"""Lessons on encoders and decoders: how one network reads and another writes."""

from seqloom.lessons.encoder_decoder import (
    decoder_loops,
    decoder_nets,
    decoder_start,
    output_feedback,
    sentence_codes,
    sequence_probability,
    tensor_shapes,
    training_pass,
    unit_chains,
)

__all__ = [
    "decoder_loops",
    "decoder_nets",
    "decoder_start",
    "output_feedback",
    "sentence_codes",
    "sequence_probability",
    "tensor_shapes",
    "training_pass",
    "unit_chains",
]
