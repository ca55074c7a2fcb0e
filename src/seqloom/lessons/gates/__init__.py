"""Lessons on gates: what LSTM and GRU retain, and their gradients."""
