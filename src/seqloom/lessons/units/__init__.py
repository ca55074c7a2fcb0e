"""Lessons on recurrent units: words as numbers, one step, stacks and directions."""

from seqloom.lessons.units import (
    abstraction,
    bidirectional,
    cosines,
    elman_step,
    one_hot_lookup,
    read_outs,
    stacked,
    unit_sizes,
    word_numbers,
    word_order,
    word_vectors,
)

__all__ = [
    "abstraction",
    "bidirectional",
    "cosines",
    "elman_step",
    "one_hot_lookup",
    "read_outs",
    "stacked",
    "unit_sizes",
    "word_numbers",
    "word_order",
    "word_vectors",
]
