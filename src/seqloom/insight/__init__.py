"""What a model has learnt and how it decided: data first, then a picture (SPEC S9)."""

from seqloom.insight.attention import AttentionMap, draw, render_text
from seqloom.insight.curves import Curves, draw_curves
from seqloom.insight.examples import example_of
from seqloom.insight.gradients import (
    Cost,
    GradientFlow,
    Place,
    UnitFlow,
    draw_flows,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)

__all__ = [
    "AttentionMap",
    "Cost",
    "Curves",
    "GradientFlow",
    "Place",
    "UnitFlow",
    "draw",
    "draw_curves",
    "draw_flows",
    "example_of",
    "gradient_flow",
    "mean_cross_entropy",
    "render_text",
    "spectral_radii",
]
