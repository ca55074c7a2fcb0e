"""Lessons on tasks: what sequences are mapped to."""

from seqloom.lessons.tasks import class_to_sequence, fill_in, paradigms

__all__ = ["class_to_sequence", "fill_in", "paradigms"]
