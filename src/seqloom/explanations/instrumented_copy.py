"""Copies of a model that share its weights, for instrumentation without side effects."""

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

from torch import nn

from seqloom.model import Network
from seqloom.nn.recurrent import RecurrentLayer
from seqloom.nn.units import Unit

__all__ = [
    "AnyNetwork",
    "UnitLocation",
    "find_parts",
    "instrument",
    "layer_of",
    "recurrent_units",
    "side_of",
]

AnyNetwork = TypeVar("AnyNetwork", bound=Network)
AnyPart = TypeVar("AnyPart", bound=nn.Module)

Replacement = tuple[nn.Module, Callable[[Any], nn.Module]]
"""A module of the model, and what makes its replacement from a copy of it."""


class UnitLocation(NamedTuple):
    """The location of a unit in a model."""

    side: str  # encoder or decoder
    layer: int  # from 1
    direction: Literal["forward", "backward"]

    def __str__(self) -> str:
        return f"{self.side} layer {self.layer} {self.direction}"


def instrument(model: AnyNetwork, changes: Iterable[Replacement] = ()) -> AnyNetwork:
    """A copy in evaluation mode that shares the parameters, with some modules replaced."""
    # `deepcopy` takes entries of its memo as copies
    known: dict[int, Any] = {id(each): each for each in (*model.parameters(), *model.buffers())}
    for module, change in changes:
        known[id(module)] = change(copy.deepcopy(module, known))
    found: AnyNetwork = copy.deepcopy(model, known)
    found.eval()
    return found


def find_parts(network: nn.Module, kind: type[AnyPart]) -> Iterator[tuple[str, AnyPart]]:
    """Find all modules of a type within a network, with their paths."""
    for name, module in network.named_modules():
        if isinstance(module, kind):
            yield name, module


def layer_of(name: str) -> int:
    """The layer of a module from its path in the network, counted from 1; 1 if the path names
    none.
    """
    parts = name.split(".")
    numbers = [int(after) for before, after in pairwise(parts) if before in ("layers", "blocks")]
    return numbers[0] + 1 if numbers else 1


def side_of(name: str) -> str:
    """Encoder or decoder, from a module's path in the network; a head may contain a decoder."""
    return "encoder" if name.partition(".")[0] == "encoder" else "decoder"


def recurrent_units(model: Network) -> Iterator[tuple[UnitLocation, Unit]]:
    """Find all recurrent units with their locations."""
    backward = {
        id(unit)
        for _, layer in find_parts(model, RecurrentLayer)
        for number, unit in enumerate(layer.units)
        if layer.backward_first or number == 1
    }
    for name, unit in find_parts(model, Unit):
        direction: Literal["forward", "backward"] = (
            "backward" if id(unit) in backward else "forward"
        )
        yield UnitLocation(side_of(name), layer_of(name), direction), unit
