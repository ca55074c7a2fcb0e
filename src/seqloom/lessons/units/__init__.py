"""Lessons on recurrent units: words as numbers, one step, stacks and directions."""
