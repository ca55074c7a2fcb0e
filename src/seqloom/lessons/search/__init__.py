"""Lessons on search: greedy, beam and exhaustive search, and sampling."""
