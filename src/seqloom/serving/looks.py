"""Explanations over HTTP: the values of `seqloom look`."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from seqloom.errors import ConfigError
from seqloom.explain import architecture_graph, unroll_graph
from seqloom.explain.plots.network_graphs import diagram_values
from seqloom.explanations.attention import Attentions, attention_of
from seqloom.explanations.attribution import attribute
from seqloom.explanations.explained_output import ExplainedOutput, ExplainedText
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.prediction_steps import explain_steps
from seqloom.explanations.step_tables import layer_guesses, residual_norms, unit_table
from seqloom.explanations.switches import GateSwitch, HeadSwitch, find_silenced_parts, switch_off
from seqloom.explanations.tracing import trace_output
from seqloom.explanations.unit_search import UnitStates, collect_states
from seqloom.explanations.unrolled_graph import SeenStep
from seqloom.prediction import Predictor
from seqloom.serving.requests import LookRequest, Switch
from seqloom.tasks import held_out_traces, own_output

__all__ = ["Looks"]

HELD_OUT = 100  # validation rows searched for activations of a cell, ...
KEPT_STATES = 8  # units whose states for these rows are cached


def _attention(model: Predictor, explained: ExplainedOutput, wanted: LookRequest) -> dict[str, Any]:
    """The attention of one layer, and the available layers."""
    found = attention_of(model, explained)
    layer = found.select_layer(wanted.of or (found.kinds or ("cross",))[0], wanted.layer)
    weights = layer.pool(wanted.head, maximum=wanted.pool == "max")
    return {
        "of": layer.kind,
        "layer": layer.layer,
        "rows": list(layer.rows),
        "columns": list(layer.columns),
        "weights": round_values(weights),
        "choices": _choices(found),
    }


def _choices(found: Attentions) -> list[dict[str, Any]]:
    """Every kind of attention with its layers and their numbers of heads."""
    return [
        {
            "of": kind,
            "layers": [
                {"layer": each.layer, "heads": len(each.weights)}
                for each in found.select_layers(kind)
            ],
        }
        for kind in found.kinds
    ]


def _attribution(
    model: Predictor, explained: ExplainedOutput, wanted: LookRequest
) -> dict[str, Any]:
    """Attribution of each output to the source and to the preceding output."""
    return {
        "method": wanted.method,
        "quantity": explained.quantity,
        "rows": list(explained.target),
        "source": list(explained.feature_names),
        "inputs": list(explained.inputs),
        "weights": round_values(attribute(model.network, explained, wanted.method)),
    }


def _part(switch: Switch) -> HeadSwitch | GateSwitch:
    """The head or gate of a switch."""
    if switch.head is not None:
        return HeadSwitch(switch.of or "cross", switch.layer, switch.head)
    return GateSwitch(switch.at, switch.gate, switch.cell)


def _switch(model: Predictor, wanted: LookRequest) -> Predictor:
    """The model with the switched parts ablated."""
    if not wanted.off:
        return model
    network = switch_off(model.network, [_part(each) for each in wanted.off])
    changed: Predictor = replace(model, weights=network)
    writer = changed.as_text_predictor()
    return changed if writer is None else replace(writer, engine=None)


def _steps(model: Predictor, explained: ExplainedOutput, wanted: LookRequest) -> dict[str, Any]:
    """Each step: inputs and outputs, the most probable tokens, the state of one recurrent unit, and
    predictions of intermediate layers; with ablated parts, also the changed outputs.
    """
    changed = _switch(model, wanted)
    units = trace_output(changed.network, explained).unit_traces
    places = [str(each.location) for each in units]
    at = wanted.at or (places[0] if places else None)
    if at is not None and at not in places:
        raise ConfigError(f"there is no recurrent unit at {at}", place="at")
    writer = changed.as_text_predictor()
    guesses = []
    if writer is not None and isinstance(explained, ExplainedText):
        guesses = [[asdict(each) for each in row] for row in layer_guesses(writer, explained)]
    norms = residual_norms(changed.network, explained)
    return {
        **explain_steps(changed, explained).as_dict(),
        "units": [
            {
                "at": str(each.location),
                "gates": list(each.unit.gate_names),
                "cells": each.unit.width,
            }
            for each in units
        ],
        "unit": None if at is None else unit_table(units[places.index(at)]).as_dict(),
        "norms": {side: round_values(table) for side, table in norms.items()},
        "guesses": guesses,
        "follows": own_output(changed, explained) if wanted.off else None,
    }


def _net(model: Predictor, explained: ExplainedOutput, wanted: LookRequest) -> dict[str, Any]:
    """The network, unrolled over the input and its output and rolled, as drawn by `look --show
    net`: positions of boxes and arrows, and a description in words.
    """
    network = _switch(model, wanted).network
    trace = trace_output(network, explained)
    unrolled = unroll_graph(
        network,
        trace,
        seen=None if wanted.step is None else SeenStep(wanted.side, wanted.step),
        silenced=find_silenced_parts(network, [_part(each) for each in wanted.off]),
    )
    positions = int(trace.memory.source_lengths(explained.source_batch())[0])
    return {
        "unrolled": diagram_values(unrolled),
        "whole": diagram_values(architecture_graph(network)),
        "reading": network.connections().order.reading(positions),
    }


LOOKS: dict[str, Callable[[Predictor, ExplainedOutput, LookRequest], dict[str, Any]]] = {
    "attention": _attention,
    "attribution": _attribution,
    "steps": _steps,
    "net": _net,
}
"""What computes each kind of look at an output."""


class Looks:
    """Explanations for requests, with cached states of validation rows."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], UnitStates] = {}

    def see(
        self,
        name: str,
        model: Predictor,
        explain: Callable[[], ExplainedOutput],
        wanted: LookRequest,
    ) -> dict[str, Any]:
        """The requested explanation for a model of this name."""
        if wanted.show != "unit":
            return LOOKS[wanted.show](model, explain(), wanted)
        key = name, wanted.at or "encoder layer 1 forward"
        found = self._states.pop(key, None)
        if found is None:
            found = collect_states(held_out_traces(model, HELD_OUT), key[1])
        self._states[key] = found
        if len(self._states) > KEPT_STATES:
            del self._states[next(iter(self._states))]
        return found.driven_most(wanted.table, wanted.cell)
