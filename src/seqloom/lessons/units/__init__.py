"""Lessons on recurrent units: words as numbers, one step, stacks and directions."""

from seqloom.lessons.units import (
    abstraction,
    bidirectional,
    cosines,
    elman_step,
    stacked,
    unit_sizes,
    word_numbers,
    word_order,
)

__all__ = [
    "abstraction",
    "bidirectional",
    "cosines",
    "elman_step",
    "stacked",
    "unit_sizes",
    "word_numbers",
    "word_order",
]
