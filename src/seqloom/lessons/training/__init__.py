"""Lessons on training: costs, gradients, teacher forcing, truncation."""
