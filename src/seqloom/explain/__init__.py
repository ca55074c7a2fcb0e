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
from seqloom.explain.attention_heads import Attentions, HeadMaps, LayerAttention, attention_of
from seqloom.explain.attention_map import AttentionMap, draw_attention, render_text
from seqloom.explain.attribution import Attribution
from seqloom.explain.attribution_views import (
    AttributionView,
    PictureAttributionView,
    SeriesAttributionView,
    SoundAttributionView,
    attribution_view,
)
from seqloom.explain.examples import example_of
from seqloom.explain.flow import Flow, flow_of
from seqloom.explain.gates import UnitGates
from seqloom.explain.gradients import (
    CostFunction,
    GradientFlow,
    UnitFlow,
    draw_flows,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)
from seqloom.explain.graph import NetworkGraph
from seqloom.explain.instrumented_copy import UnitLocation
from seqloom.explain.media_attention import (
    PictureAttention,
    SoundAttention,
    VideoAttention,
    attention_over_media,
    is_media,
)
from seqloom.explain.network_graphs import architecture_graph, unroll_graph
from seqloom.explain.position_vectors import PositionMap, PositionMaps, position_maps
from seqloom.explain.prediction_steps import PredictionStep, PredictionSteps, explain_steps
from seqloom.explain.states import StateMap, state_map
from seqloom.explain.threads import Threads
from seqloom.explain.tracing import has_attention
from seqloom.explain.trees import BeamTree, beam_tree

__all__ = [
    "Alignment",
    "Alignments",
    "AttentionMap",
    "Attentions",
    "Attribution",
    "AttributionView",
    "BeamTree",
    "CostFunction",
    "ErrorRate",
    "Flow",
    "GradientFlow",
    "HeadMaps",
    "LayerAttention",
    "NetworkGraph",
    "PictureAttention",
    "PictureAttributionView",
    "PositionMap",
    "PositionMaps",
    "PredictionStep",
    "PredictionSteps",
    "SeriesAttributionView",
    "SoundAttention",
    "SoundAttributionView",
    "StateMap",
    "Threads",
    "UnitFlow",
    "UnitGates",
    "UnitLocation",
    "VideoAttention",
    "View",
    "align",
    "alignment_errors",
    "architecture_graph",
    "attention_of",
    "attention_over_media",
    "attribution_view",
    "beam_tree",
    "draw_attention",
    "draw_flows",
    "example_of",
    "explain_steps",
    "flow_of",
    "gradient_flow",
    "has_attention",
    "is_media",
    "mean_cross_entropy",
    "parse_gold",
    "position_maps",
    "render_text",
    "spectral_radii",
    "state_map",
    "unroll_graph",
    "write",
]
