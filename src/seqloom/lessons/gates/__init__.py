"""Lessons on gates: what LSTM and GRU keep, and what their gradients do."""
