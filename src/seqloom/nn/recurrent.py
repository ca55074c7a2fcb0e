"""Stacks of recurrent layers, in either or both directions (S2.6)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional

from seqloom.nn.modules import Dropout, children_of
from seqloom.nn.truncation import run_unit
from seqloom.nn.units import Unit

__all__ = [
    "AroundStack",
    "Branch",
    "Direction",
    "RecurrentLayer",
    "RecurrentStack",
    "StackOptions",
    "reverse",
]

Direction = Literal["forward", "backward", "both"]
Branch = Literal["whole", "before", "after"]
NewUnit = Callable[[int, int], Unit]
"""A factory of units, given the sizes of input and state."""


@dataclass(frozen=True)
class StackOptions:
    """Options of a stack of layers."""

    layers: int = 1
    direction: Direction = "forward"
    dropout: float = 0.0  # between layers
    residual: bool = False  # residual connections between equal sizes
    layer_norm: bool = False  # layer norm of each layer's output
    trainable_state: bool = False  # a learned initial state instead of zeros


def reverse(values: Shaped[Tensor, "B S D"], lengths: Int[Tensor, "B"]) -> Shaped[Tensor, "B S D"]:
    """Reverse each row's real positions; its padding stays at the end."""
    steps = torch.arange(values.shape[1], device=values.device)
    index = lengths[:, None] - 1 - steps
    index = torch.where(index < 0, steps, index)
    return values.gather(1, index[:, :, None].expand_as(values))


class RecurrentLayer(nn.Module):
    """One layer: a unit for each direction, with their outputs concatenated.

    Schuster and Paliwal 1997, Bidirectional Recurrent Neural Networks.
    """

    def __init__(self, units: list[Unit], *, backward_first: bool, norm: bool) -> None:
        super().__init__()
        self.units = nn.ModuleList(units)
        self.backward_first = backward_first
        self.width = sum(unit.width for unit in units)
        self.parts = units[0].parts
        self.norm: nn.Module = nn.LayerNorm(self.width) if norm else nn.Identity()

    def forward(
        self,
        inputs: Float[Tensor, "B S I"],
        state: tuple[Float[Tensor, "B E"], ...] | None,
        lengths: Int[Tensor, "B"] | None,
    ) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B E"], ...]]:
        """Outputs in the order of the inputs, and each direction's state after its last step."""
        outputs, finals, begin = [], [], 0
        for number, unit in enumerate(children_of(self.units, Unit)):
            backward = self.backward_first or number == 1
            read = _reverse_time(inputs, lengths) if backward else inputs
            first = unit.zero_state(read) if state is None else _slices(state, begin, unit.width)
            output, states = run_unit(unit, read, first)
            outputs.append(_reverse_time(output, lengths) if backward else output)
            finals.append(tuple(_last_states(part, lengths) for part in states))
            begin += unit.width
        return self.norm(_concatenate(outputs)), tuple(
            _concatenate(parts) for parts in zip(*finals, strict=True)
        )


class RecurrentStack(nn.Module):
    """A stack of recurrent layers with dropout in between."""

    around: ClassVar[bool] = False
    """Whether no output depends on the input at its own position."""

    def __init__(self, inputs: int, width: int, new_unit: NewUnit, options: StackOptions) -> None:
        super().__init__()
        directions = 2 if options.direction == "both" else 1
        sizes = [inputs] + [directions * width] * (options.layers - 1)
        self.layers = nn.ModuleList(
            RecurrentLayer(
                [new_unit(size, width) for _ in range(directions)],
                backward_first=options.direction == "backward",
                norm=options.layer_norm,
            )
            for size in sizes
        )
        self.width = directions * width
        self.depth = options.layers
        self.direction = options.direction
        self.parts = next(children_of(self.layers, RecurrentLayer)).parts
        self.between = Dropout(options.dropout)
        self.residual = options.residual
        learnt = self.parts if options.trainable_state else 0
        self.first = nn.ParameterList(
            torch.zeros(options.layers, self.width) for _ in range(learnt)
        )

    @property
    def branches(self) -> "dict[Branch, RecurrentStack]":
        """The stacks that make up its outputs, by the side from which each reads a position."""
        return {"whole": self}

    def first_state(self, rows: int) -> tuple[Float[Tensor, "B L E"], ...] | None:
        """The learned initial state; None where it is zero."""
        if not len(self.first):
            return None
        return tuple(part.expand(rows, *part.shape) for part in self.first)

    def forward(
        self,
        inputs: Float[Tensor, "B S I"],
        state: tuple[Float[Tensor, "B L E"], ...] | None = None,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B L E"], ...]]:
        """The top layer's outputs and the last state of every layer, directions concatenated.

        With `lengths`, a row's last state is the one at its own end, and the backward direction
        starts there, so that padding is never read.
        """
        layers = self.layer_outputs(inputs, state, lengths)
        finals = zip(*(final for _, final in layers), strict=True)
        return layers[-1][0], tuple(torch.stack(parts, dim=1) for parts in finals)

    def layer_outputs(
        self,
        inputs: Float[Tensor, "B S I"],
        state: tuple[Float[Tensor, "B L E"], ...] | None = None,
        lengths: Int[Tensor, "B"] | None = None,
    ) -> list[tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B E"], ...]]]:
        """The outputs and the last state of every layer, the lowest first."""
        state = self.first_state(len(inputs)) if state is None else state
        found: list[tuple[Tensor, tuple[Tensor, ...]]] = []
        for number, layer in enumerate(children_of(self.layers, RecurrentLayer)):
            read = self.between(inputs) if number else inputs
            first = None if state is None else tuple(part[:, number] for part in state)
            outputs, final = layer(read, first, lengths)
            inputs = self._add_residual(outputs, inputs)
            found.append((inputs, final))
        return found

    def _add_residual(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """A layer's outputs, plus its inputs if configured and their sizes agree."""
        return outputs + inputs if self.residual and inputs.shape[-1] == self.width else outputs


class AroundStack(nn.Module):
    """A forward and a backward stack whose states before and after each position are concatenated,
    so that no output depends on the input at its own position.

    Melamud et al. 2016, context2vec.
    """

    around: ClassVar[bool] = True

    def __init__(self, inputs: int, width: int, new_unit: NewUnit, options: StackOptions) -> None:
        super().__init__()
        self.before = RecurrentStack(inputs, width, new_unit, replace(options, direction="forward"))
        self.after = RecurrentStack(inputs, width, new_unit, replace(options, direction="backward"))
        self.width = 2 * width
        self.depth = options.layers
        self.parts = self.before.parts

    @property
    def branches(self) -> dict[Branch, RecurrentStack]:
        """The stacks that make up its outputs, by the side from which each reads a position."""
        return {"before": self.before, "after": self.after}

    def forward(
        self, inputs: Float[Tensor, "B S I"], *, lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B L E"], ...]]:
        """The outputs of both stacks, each shifted by a step and padded with zeros, and the last
        states of both.
        """
        layers = self.layer_outputs(inputs, lengths=lengths)
        finals = zip(*(final for _, final in layers), strict=True)
        return layers[-1][0], tuple(torch.stack(parts, dim=1) for parts in finals)

    def layer_outputs(
        self, inputs: Float[Tensor, "B S I"], *, lengths: Int[Tensor, "B"]
    ) -> list[tuple[Float[Tensor, "B S E"], tuple[Float[Tensor, "B E"], ...]]]:
        """The outputs and the last states of every layer of both stacks, the lowest first."""
        steps = torch.arange(inputs.shape[1], device=inputs.device)
        real = (steps < lengths[:, None])[:, :, None]
        found = []
        for (before, left), (after, right) in zip(
            self.before.layer_outputs(inputs, lengths=lengths),
            self.after.layer_outputs(inputs, lengths=lengths),
            strict=True,
        ):
            shifted = [
                functional.pad(before[:, :-1], (0, 0, 1, 0)),
                functional.pad((after * real)[:, 1:], (0, 0, 0, 1)),  # zero at padding
            ]
            final = tuple(torch.cat(parts, dim=-1) for parts in zip(left, right, strict=True))
            found.append((torch.cat(shifted, dim=-1), final))
        return found


def _slices(state: tuple[Tensor, ...], begin: int, width: int) -> tuple[Tensor, ...]:
    return tuple(part[:, begin : begin + width] for part in state)


def _concatenate(parts: list[Tensor] | tuple[Tensor, ...]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=-1)


def _reverse_time(values: Tensor, lengths: Tensor | None) -> Tensor:
    return values.flip(1) if lengths is None else reverse(values, lengths)


def _last_states(values: Tensor, lengths: Tensor | None) -> Tensor:
    if lengths is None:
        return values[:, -1]
    return values[torch.arange(values.shape[0], device=values.device), lengths - 1]
