"""Lessons on attention: one step, matrices, heads, scores."""
