"""Lessons on the Transformer: positions, masks, layer norm, sizes."""
