"""Twins of a model: the same weights in other modules, so that a look inside disturbs nobody."""

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from torch import nn

from seqloom.model import SequenceModel
from seqloom.nn.recurrent import Layer
from seqloom.nn.units import Unit

__all__ = ["Place", "layer_of", "twin", "units_of"]

Change = tuple[nn.Module, Callable[[Any], nn.Module]]
"""A module of the model, and what makes the one to stand in its place from a copy of it."""


class Place(NamedTuple):
    """Where in a model a unit stands."""

    side: str  # encoder or decoder
    layer: int  # from 1
    direction: Literal["forward", "backward"]

    def __str__(self) -> str:
        return f"{self.side} layer {self.layer} {self.direction}"


def twin(model: SequenceModel, changes: Iterable[Change] = ()) -> SequenceModel:
    """The model as in use, with the very same parameters, and some modules exchanged."""
    # What a deep copy finds here it takes as its copy.
    known: dict[int, Any] = {id(each): each for each in (*model.parameters(), *model.buffers())}
    for module, change in changes:
        known[id(module)] = change(copy.deepcopy(module, known))
    return copy.deepcopy(model, known).eval()


def layer_of(name: str) -> int:
    """The layer, counted from 1, of a module by its path in the network; 1 where none is named."""
    parts = name.split(".")
    numbers = [int(after) for before, after in pairwise(parts) if before in ("layers", "blocks")]
    return numbers[0] + 1 if numbers else 1


def units_of(model: SequenceModel) -> Iterator[tuple[Place, Unit]]:
    """Every recurrent unit with its place."""
    backward = {
        id(unit)
        for layer in model.modules()
        if isinstance(layer, Layer)
        for number, unit in enumerate(layer.units)
        if layer.backward_first or number == 1
    }
    for name, unit in model.named_modules():
        if isinstance(unit, Unit):
            side = name.partition(".")[0]
            direction: Literal["forward", "backward"] = (
                "backward" if id(unit) in backward else "forward"
            )
            yield Place(side, layer_of(name), direction), unit
