"""Data in blocks for parallel processing."""
