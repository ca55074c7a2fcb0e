"""Lessons on tasks: what sequences are mapped to."""

from seqloom.lessons.tasks import (
    captions,
    class_net,
    class_to_sequence,
    fill_in,
    help_desk,
    paradigms,
    small_tasks,
    text_pairs,
    translation_tables,
)

__all__ = [
    "captions",
    "class_net",
    "class_to_sequence",
    "fill_in",
    "help_desk",
    "paradigms",
    "small_tasks",
    "text_pairs",
    "translation_tables",
]
