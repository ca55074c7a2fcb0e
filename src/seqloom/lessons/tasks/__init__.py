"""Lessons on tasks: what sequences are mapped to."""

from seqloom.lessons.tasks import (
    class_net,
    class_to_sequence,
    fill_in,
    paradigms,
)

__all__ = [
    "class_net",
    "class_to_sequence",
    "fill_in",
    "paradigms",
]
