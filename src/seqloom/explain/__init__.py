"""What a model has learnt and how it decided: values first, then text, pictures and pages.

`explanations` has the values, each with `as_dict`; `plots` shows them: `text_of` for a terminal,
`drawing_of` for a picture, `write` for a file.
"""

from seqloom.drawing.views import View, drawing_of, text_of, write
from seqloom.explain import plots
from seqloom.explain.plots.attention import draw_attention, render_text
from seqloom.explain.plots.flow import draw_flows
from seqloom.explanations.alignment import Alignment, Alignments, align
from seqloom.explanations.attention import (
    Attentions,
    attention_from_trace,
    attention_of,
    attention_over_media,
)
from seqloom.explanations.attention_map import AttentionMap, Threads
from seqloom.explanations.attribution import Attribution, attribution_view
from seqloom.explanations.descent_step import DescentStep, descent_step
from seqloom.explanations.explained_output import Cell, ExplainedOutput, ExplainedText
from seqloom.explanations.flow import Flow, flow_of
from seqloom.explanations.gradients import (
    GradientFlow,
    example_of,
    gradient_flow,
    mean_cross_entropy,
)
from seqloom.explanations.media import AttributionView, is_media
from seqloom.explanations.network_graphs import NetworkGraph, architecture_graph
from seqloom.explanations.position_vectors import PositionMaps, position_maps
from seqloom.explanations.prediction_steps import PredictionSteps, explain_steps
from seqloom.explanations.states import StateMap, state_map, vector_map
from seqloom.explanations.tracing import Trace, has_attention, trace_output
from seqloom.explanations.trees import BeamTree, beam_tree
from seqloom.explanations.unrolled_graph import unroll_graph
from seqloom.metrics.alignment import alignment_errors, parse_gold

__all__ = [
    "Alignment",
    "Alignments",
    "AttentionMap",
    "Attentions",
    "Attribution",
    "AttributionView",
    "BeamTree",
    "Cell",
    "DescentStep",
    "ExplainedOutput",
    "ExplainedText",
    "Flow",
    "GradientFlow",
    "NetworkGraph",
    "PositionMaps",
    "PredictionSteps",
    "StateMap",
    "Threads",
    "Trace",
    "View",
    "align",
    "alignment_errors",
    "architecture_graph",
    "attention_from_trace",
    "attention_of",
    "attention_over_media",
    "attribution_view",
    "beam_tree",
    "descent_step",
    "draw_attention",
    "draw_flows",
    "drawing_of",
    "example_of",
    "explain_steps",
    "flow_of",
    "gradient_flow",
    "has_attention",
    "is_media",
    "mean_cross_entropy",
    "parse_gold",
    "plots",
    "position_maps",
    "render_text",
    "state_map",
    "text_of",
    "trace_output",
    "unroll_graph",
    "vector_map",
    "write",
]
