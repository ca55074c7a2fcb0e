"""Lessons on tasks: what sequences are mapped to."""
