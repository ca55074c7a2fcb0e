"""Scheduling: a fair queue, workers, and decoding processes."""
