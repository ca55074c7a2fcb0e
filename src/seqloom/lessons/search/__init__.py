"""Lessons on search: greedy, beams, exhaustive search, draws."""
