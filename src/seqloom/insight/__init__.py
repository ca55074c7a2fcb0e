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
from seqloom.insight.flow import Flow, flow_of
from seqloom.insight.forecast import draw_forecast
from seqloom.insight.gates import UnitGates
from seqloom.insight.gradients import (
    Cost,
    GradientFlow,
    UnitFlow,
    draw_flows,
    gradient_flow,
    mean_cross_entropy,
    spectral_radii,
)
from seqloom.insight.graph import Net
from seqloom.insight.heads import Attentions, Heads, LayerAttention, attention_of
from seqloom.insight.mattering import (
    MatteredIn,
    MatteredInPicture,
    MatteredInSeries,
    MatteredInSound,
    mattered,
)
from seqloom.insight.nets import rolled, unrolled
from seqloom.insight.passes import attends
from seqloom.insight.places import PositionMap, PositionMaps, positions_of
from seqloom.insight.reports import ForecastReport, Judged, RunReport, Scale
from seqloom.insight.saliency import Mattered
from seqloom.insight.seen import (
    PictureAttention,
    SoundAttention,
    VideoAttention,
    is_seen,
    seen_in,
)
from seqloom.insight.states import StateMap, state_map
from seqloom.insight.steps import Step, Steps, steps_of
from seqloom.insight.sweep import Tried, draw_sweep
from seqloom.insight.threads import Threads
from seqloom.insight.trees import BeamTree, beam_tree
from seqloom.insight.twins import Place
from seqloom.insight.views import View, write

__all__ = [
    "Alignment",
    "Alignments",
    "AttentionMap",
    "Attentions",
    "BeamTree",
    "Cost",
    "Curves",
    "ErrorRate",
    "Flow",
    "ForecastReport",
    "GradientFlow",
    "Heads",
    "Judged",
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
    "RunReport",
    "Scale",
    "SoundAttention",
    "StateMap",
    "Step",
    "Steps",
    "Threads",
    "Tried",
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
    "draw_curves",
    "draw_flows",
    "draw_forecast",
    "draw_sweep",
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
