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
from seqloom.insight.sweep import Tried, draw_sweep

__all__ = [
    "AttentionMap",
    "Cost",
    "Curves",
    "GradientFlow",
    "Place",
    "Tried",
    "UnitFlow",
    "draw",
    "draw_curves",
    "draw_flows",
    "draw_sweep",
    "example_of",
    "gradient_flow",
    "mean_cross_entropy",
    "render_text",
    "spectral_radii",
]
