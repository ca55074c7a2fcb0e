"""Lessons on gates: what LSTM and GRU keep, and what their gradients do."""

from seqloom.lessons.gates import (
    gated_gradients,
    gru_limits,
    hard_gate,
    lstm_step,
    three_situations,
)

__all__ = [
    "gated_gradients",
    "gru_limits",
    "hard_gate",
    "lstm_step",
    "three_situations",
]
