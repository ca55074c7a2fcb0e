"""Lessons on search: greedy, beams, exhaustive search, draws."""

from seqloom.lessons.search import (
    beam_steps,
    carried_states,
    exhaustive_search,
    greedy_failure,
    gumbel,
    threshold_pruning,
)

__all__ = [
    "beam_steps",
    "carried_states",
    "exhaustive_search",
    "greedy_failure",
    "gumbel",
    "threshold_pruning",
]
