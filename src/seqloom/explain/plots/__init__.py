"""Text, pictures and pages of explanations.

Importing a module here registers its drawings with `text_of`, `drawing_of` and `page_of`.
"""

from seqloom.explain.plots import (
    alignment,
    attention,
    attribution,
    descent_step,
    flow,
    media,
    network_graphs,
    outputs,
    position_vectors,
    prediction_steps,
    states,
    trees,
)

__all__ = [
    "alignment",
    "attention",
    "attribution",
    "descent_step",
    "flow",
    "media",
    "network_graphs",
    "outputs",
    "position_vectors",
    "prediction_steps",
    "states",
    "trees",
]
