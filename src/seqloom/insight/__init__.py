"""What a model has learnt and how it decided: data first, then a picture (SPEC S9)."""

from seqloom.insight.alignments import (
    Alignment,
    Alignments,
    ErrorRate,
    align,
    alignment_errors,
    parse_gold,
)
from seqloom.insight.attention import AttentionMap, draw, render_text
from seqloom.insight.curves import Curves, draw_curves
from seqloom.insight.examples import example_of
from seqloom.insight.gradients import (
    Cost,
    GradientFlow,
    UnitFlow,
    draw_flows,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)
from seqloom.insight.heads import Attentions, Heads, LayerAttention, attention_of
from seqloom.insight.sweep import Tried, draw_sweep
from seqloom.insight.threads import Threads
from seqloom.insight.twins import Place
from seqloom.insight.views import View, write

__all__ = [
    "Alignment",
    "Alignments",
    "AttentionMap",
    "Attentions",
    "Cost",
    "Curves",
    "ErrorRate",
    "GradientFlow",
    "Heads",
    "LayerAttention",
    "Place",
    "Threads",
    "Tried",
    "UnitFlow",
    "View",
    "align",
    "alignment_errors",
    "attention_of",
    "draw",
    "draw_curves",
    "draw_flows",
    "draw_sweep",
    "example_of",
    "gradient_flow",
    "mean_cross_entropy",
    "parse_gold",
    "render_text",
    "spectral_radii",
    "write",
]
