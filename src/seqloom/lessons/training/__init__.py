"""Lessons on training: costs, gradients, teacher forcing, truncation."""

from seqloom.lessons.training import (
    backpropagation,
    closed_form_gradient,
    computation_graph,
    cost_at_every_step,
    cross_entropy,
    descent_sign,
    distant_word,
    eigenvalues,
    freezing,
    padding,
    reversal,
    reversal_training,
    single_word_gradient,
    state_jacobian,
    teacher_forcing,
    truncation,
)

__all__ = [
    "backpropagation",
    "closed_form_gradient",
    "computation_graph",
    "cost_at_every_step",
    "cross_entropy",
    "descent_sign",
    "distant_word",
    "eigenvalues",
    "freezing",
    "padding",
    "reversal",
    "reversal_training",
    "single_word_gradient",
    "state_jacobian",
    "teacher_forcing",
    "truncation",
]
