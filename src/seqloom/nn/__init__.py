"""Layers: recurrent units and stacks, attention, positions, Transformer blocks, convolutions."""
