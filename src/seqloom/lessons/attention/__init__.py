"""Lessons on attention: one step, matrices, heads, scores."""

from seqloom.lessons.attention import (
    alignments,
    attention_by_length,
    attention_heads,
    attention_matrix,
    attention_net,
    attention_step,
    causal_weights,
    score_functions,
)

__all__ = [
    "alignments",
    "attention_by_length",
    "attention_heads",
    "attention_matrix",
    "attention_net",
    "attention_step",
    "causal_weights",
    "score_functions",
]
