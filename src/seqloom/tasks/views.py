"""Explanations of a few held-out inputs, for reports."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from seqloom.data import even_indices
from seqloom.drawing.views import View
from seqloom.explanations.attention import Attentions
from seqloom.explanations.attribution import attribution_view
from seqloom.explanations.explained_output import Cell, ExplainedOutput
from seqloom.explanations.tracing import Trace, has_attention, trace_output
from seqloom.prediction import Predictor

__all__ = ["ATTENTION", "ATTRIBUTION", "attention_views", "attribution_views", "explanation_views"]

VIEWS = 3
SHORT = 20  # items of an input where each is asked what it mattered to each output
ATTENTION, ATTRIBUTION = "Attention of three examples", "What mattered in three examples"

AnyModel = TypeVar("AnyModel", bound=Predictor)
Explain = Callable[[AnyModel, Cell], ExplainedOutput]
ViewsOfTraces = Callable[[Sequence[Trace]], tuple[View, ...]]


def explanation_views(
    model: AnyModel,
    cells: Sequence[Cell],
    explain: Explain[AnyModel],
    *,
    views: ViewsOfTraces | None = None,
) -> tuple[str, tuple[View, ...]]:
    """Attention of inputs spread over all; where the model has none, what mattered."""
    if not cells:
        return ATTENTION, ()
    if not has_attention(model.network):
        short = [cell for cell in cells if len(cell) <= SHORT] or cells
        return attribution_views(model, short, explain)
    traces = [trace_output(model.network, explain(model, cell)) for cell in _examples(cells)]
    return ATTENTION, (views or attention_views)(traces)


def attention_views(traces: Sequence[Trace]) -> tuple[View, ...]:
    """The first kind of attention that the network has, of each trace."""
    found = [Attentions.from_trace(each) for each in traces]
    return tuple(each.select_map(found[0].kinds[0]) for each in found)


def attribution_views(
    model: AnyModel, cells: Sequence[Cell], explain: Explain[AnyModel]
) -> tuple[str, tuple[View, ...]]:
    """What mattered in inputs spread over all."""
    chosen = _examples(cells)
    return ATTRIBUTION, tuple(attribution_view(model, explain(model, cell)) for cell in chosen)


def _examples(cells: Sequence[Cell]) -> list[Cell]:
    """Three of them, or all, from the first to the last."""
    return [cells[place] for place in even_indices(len(cells), VIEWS)]
