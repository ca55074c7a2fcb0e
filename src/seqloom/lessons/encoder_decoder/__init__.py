"""Lessons on encoder–decoder networks."""
