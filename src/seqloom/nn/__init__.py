"""Parts with parameters: units, stacks, attention, positions, Transformer blocks."""
