"""Lessons on the Transformer: positions, masks, layer norm, sizes."""

from seqloom.lessons.transformer import (
    layer_norm,
    mask_scores,
    one_hot_positions,
    parallel_steps,
    sinusoids,
    transformer_net,
    transformer_sizes,
    word_positions,
)

__all__ = [
    "layer_norm",
    "mask_scores",
    "one_hot_positions",
    "parallel_steps",
    "sinusoids",
    "transformer_net",
    "transformer_sizes",
    "word_positions",
]
