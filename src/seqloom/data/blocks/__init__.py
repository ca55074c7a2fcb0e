"""Data in blocks that several processes work on: rows, their hashes, a sample of them."""
