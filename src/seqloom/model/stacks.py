"""Recurrent stacks from their options, and the edges by which they are drawn."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Literal

from seqloom.config import (
    UNITS,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    RecurrentTagsConfig,
    UnitOptions,
)
from seqloom.model.connections import Connection, ConnectionNode, Connections, Steps
from seqloom.nn.recurrent import Direction, RecurrentStack, StackOptions
from seqloom.nn.units import Unit

__all__ = ["final_connections", "layer_connections", "layer_names", "stack_options", "unit_factory"]

DIRECTION_STEPS: dict[Direction, tuple[Steps, ...]] = {
    "forward": ("previous",),
    "backward": ("next",),
    "both": ("previous", "next"),
}


def unit_factory(options: UnitOptions) -> Callable[[int, int], Unit]:
    """A factory of units with these options, given the sizes of input and state."""
    part: type[Unit] = UNITS.parts[options.kind]
    return partial(part.build, options)


def stack_options(
    options: RecurrentEncoderConfig | RecurrentDecoderConfig | RecurrentTagsConfig,
    direction: Direction,
) -> StackOptions:
    """The stack options of an encoder or a decoder."""
    return StackOptions(
        layers=options.layers,
        direction=direction,
        dropout=options.dropout,
        residual=options.residual,
        layer_norm=options.layer_norm,
        trainable_state=options.first_state == "learnt",
    )


def layer_names(prefix: str, depth: int) -> list[str]:
    """The nodes of a stack's layers, the lowest first."""
    return [f"{prefix}.layers.{number}" for number in range(depth)]


def layer_connections(stack: RecurrentStack, prefix: str, below: str) -> Connections:
    """The layers of a stack over the node `below`, each with its state from step to step."""
    names = layer_names(prefix, stack.depth)
    up = [Connection(lower, upper) for lower, upper in pairwise([below, *names])]
    time = [
        Connection(name, name, "time", steps)
        for name in names
        for steps in DIRECTION_STEPS[stack.direction]
    ]
    label = _layer_label(stack)
    nodes = tuple(ConnectionNode(name, "layer", label=label) for name in names)
    return Connections(nodes, (*up, *time))


def final_connections(stack: RecurrentStack, prefix: str) -> tuple[Connection, ...]:
    """The edges from the last states of all layers to the code."""
    ends: dict[Steps, Literal["tail-last", "tail-first"]] = {
        "previous": "tail-last",
        "next": "tail-first",
    }
    return tuple(
        Connection(name, "encoder.code", "code", ends[steps])
        for name in layer_names(prefix, stack.depth)
        for steps in DIRECTION_STEPS[stack.direction]
    )


def _layer_label(stack: RecurrentStack) -> str:
    """The label of a layer: its unit, size and direction."""
    unit = next(module for module in stack.modules() if isinstance(module, Unit))
    ways = {"forward": "", "backward": ", backwards", "both": ", both ways"}[stack.direction]
    return f"{unit.label} of {unit.width}{ways}"
