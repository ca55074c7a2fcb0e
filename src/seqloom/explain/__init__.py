"""What a model has learnt and how it decided: values first, then a picture."""

from seqloom.drawing.views import View, write
from seqloom.explain.alignment import (
    Alignment,
    Alignments,
    ErrorRate,
    align,
    alignment_errors,
    parse_gold,
)
from seqloom.explain.attention_heads import Attentions, Heads, LayerAttention, attention_of
from seqloom.explain.attention_map import AttentionMap, draw, render_text
from seqloom.explain.attribution import Mattered
from seqloom.explain.attribution_views import (
    MatteredIn,
    MatteredInPicture,
    MatteredInSeries,
    MatteredInSound,
    mattered,
)
from seqloom.explain.examples import example_of
from seqloom.explain.flow import Flow, flow_of
from seqloom.explain.gates import UnitGates
from seqloom.explain.gradients import (
    Cost,
    GradientFlow,
    UnitFlow,
    draw_flows,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)
from seqloom.explain.instrumented_copy import Place
from seqloom.explain.media_attention import (
    PictureAttention,
    SoundAttention,
    VideoAttention,
    is_seen,
    seen_in,
)
from seqloom.explain.graph import Net
from seqloom.explain.network_graphs import rolled, unrolled
from seqloom.explain.position_vectors import PositionMap, PositionMaps, positions_of
from seqloom.explain.states import StateMap, state_map
from seqloom.explain.prediction_steps import Step, Steps, steps_of
from seqloom.explain.threads import Threads
from seqloom.explain.tracing import attends
from seqloom.explain.trees import BeamTree, beam_tree

__all__ = [
    "Alignment",
    "Alignments",
    "AttentionMap",
    "Attentions",
    "BeamTree",
    "Cost",
    "ErrorRate",
    "Flow",
    "GradientFlow",
    "Heads",
    "LayerAttention",
    "Mattered",
    "MatteredIn",
    "MatteredInPicture",
    "MatteredInSeries",
    "MatteredInSound",
    "Net",
    "PictureAttention",
    "Place",
    "PositionMap",
    "PositionMaps",
    "SoundAttention",
    "StateMap",
    "Step",
    "Steps",
    "Threads",
    "UnitFlow",
    "UnitGates",
    "VideoAttention",
    "View",
    "align",
    "alignment_errors",
    "attends",
    "attention_of",
    "beam_tree",
    "draw",
    "draw_flows",
    "example_of",
    "flow_of",
    "gradient_flow",
    "is_seen",
    "mattered",
    "mean_cross_entropy",
    "parse_gold",
    "positions_of",
    "render_text",
    "rolled",
    "seen_in",
    "spectral_radii",
    "state_map",
    "steps_of",
    "unrolled",
    "write",
]
