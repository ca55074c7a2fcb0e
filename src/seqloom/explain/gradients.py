"""How far a cost reaches back in time: ∂C/∂h_t of every unit, as data and a picture (S6.8).

A unit's loop over time is a single step of autograd, so the states inside it are not in the graph.
For the look back each unit is replaced, in a twin of the model that shares all weights, by one that
is called step by step: the same numbers, and a total derivative for every state.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.drawing.fonts import legible_labels
from seqloom.drawing.image_files import kind_of, save
from seqloom.errors import DataError
from seqloom.explain.instrumented_copy import UnitLocation, instrument, recurrent_units
from seqloom.fields import EMPTY
from seqloom.model import Memory, Network, SequenceModel
from seqloom.nn.units import Elman, Gru, Lstm, Unit, UnitState
from seqloom.training import Example, row_log_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "CostFunction",
    "GradientFlow",
    "UnitFlow",
    "draw_flows",
    "fill_flows",
    "gradient_flow",
    "mean_cross_entropy",
    "spectral_radii",
]

CostFunction = Callable[[Any, Memory, Int[Tensor, "B T"]], Float[Tensor, "B"]]
"""The cost of each sentence, from the decoder (or head), the memory and the target."""

GATES: dict[type[Unit], tuple[str, ...]] = {
    Elman: ("state",),
    Lstm: ("input", "forget", "output", "candidate"),
    Gru: ("reset", "update", "candidate"),
}  # whose recurrent matrices lie one below the other


FEW = 24  # steps, up to which each is marked in a picture
DECADES = 12  # shown at most


@dataclass(frozen=True, eq=False)
class UnitFlow:
    """What a cost tells one unit: for each sentence ∂C/∂h_t of every step, as (T, D).

    Steps are in the order in which the unit read them: a backward unit ends at the first position.
    """

    location: UnitLocation
    gradients: tuple[np.ndarray, ...]
    radii: Mapping[str, float]  # the largest |eigenvalue| of each recurrent matrix, by its gate

    @property
    def norms(self) -> tuple[np.ndarray, ...]:
        """The size of ∂C/∂h_t for each step of each sentence."""
        return tuple(np.linalg.norm(steps, axis=1) for steps in self.gradients)

    def by_distance(self) -> np.ndarray:
        """The mean size 0, 1, 2, … steps before a sentence's last, over the sentences so long."""
        turned = [norms[::-1] for norms in self.norms]
        distances = range(max(map(len, turned)))
        return np.array([np.mean([row[d] for row in turned if d < len(row)]) for d in distances])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.location._asdict(),
            "norms": [norms.tolist() for norms in self.norms],
            "by_distance": self.by_distance().tolist(),
            "spectral_radii": dict(self.radii),
        }


@dataclass(frozen=True, eq=False)
class GradientFlow:
    """What a cost tells every state of a model (S6.8, S9).

    `memory` is the size of the gradient at each position of each encoded source as it was handed to
    the decoder, which is what attention sends back; None where no states are handed over.
    """

    costs: np.ndarray  # (B,)
    units: tuple[UnitFlow, ...]  # none where nothing is recurrent
    memory: tuple[np.ndarray, ...] | None

    def by_location(self) -> dict[str, UnitFlow]:
        """The units by their places in words."""
        return {str(unit.location): unit for unit in self.units}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        memory = None if self.memory is None else [norms.tolist() for norms in self.memory]
        units = [unit.as_dict() for unit in self.units]
        return {"costs": self.costs.tolist(), "units": units, "memory": memory}


def mean_cross_entropy(
    decoder: Any, memory: Memory, target: Int[Tensor, "B T"]
) -> Float[Tensor, "B"]:
    """C = (1/T) Σ C_t of each sentence under teacher forcing (S6.1, S6.2)."""
    rows = row_log_probabilities(decoder, decoder.start(memory), target)
    return -rows.sum(dim=1) / target.ne(EMPTY).sum(dim=1)


def gradient_flow(
    model: Network, example: Example, *, cost: CostFunction = mean_cross_entropy
) -> GradientFlow:
    """The gradient of each sentence's cost with respect to every state it came through.

    The model is seen as in use, without dropout, and is not changed. Sentences do not mix: each has
    the gradients that it has alone.
    """
    with torch.enable_grad():
        seen, units = _instrument(model)
        memory = seen.encoder.encode(example.source)
        if memory.states is not None:
            memory = replace(memory, states=_differentiable(memory.states))
        said_by = seen.decoder if isinstance(seen, SequenceModel) else seen.head
        costs = cost(said_by, memory, example.target)
    units = [unit for unit in units if unit.states]
    handed = [] if memory.states is None else [[memory.states]]
    read = example.source.mask if memory.mask is None else memory.mask
    found = _gradients(costs.sum(), [*(unit.states for unit in units), *handed])
    flows = tuple(
        UnitFlow(
            unit.location,
            _rows(
                gradients,
                _step_mask(unit.location.side, gradients.shape[1], (read, example.target)),
            ),
            spectral_radii(unit.inner),
        )
        for unit, gradients in zip(units, found, strict=False)
    )
    sizes = _rows(found[-1].norm(dim=2), read) if handed else None
    return GradientFlow(_array(costs), flows, sizes)


def spectral_radii(unit: Unit) -> dict[str, float]:
    """The largest |eigenvalue| of each recurrent matrix, by the name of the gate that it feeds."""
    if not isinstance(unit, Elman | Lstm | Gru):
        return {}
    matrices = _array(unit.recur).reshape(-1, unit.width, unit.width)
    radii = np.abs(np.linalg.eigvals(matrices)).max(axis=1)
    return dict(zip(GATES[type(unit)], radii.tolist(), strict=True))


class _StepwiseUnit(Unit):
    """A unit that is called a step at a time and keeps its states, as they are in the graph."""

    def __init__(self, place: UnitLocation, inner: Unit) -> None:
        super().__init__()
        self.location, self.inner = place, inner
        self.width, self.state_names = inner.width, inner.state_names
        self.states: list[Float[Tensor, "R 1 D"]] = []

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """What the unit gives for all steps at once, to rounding."""
        outputs, states = [], []
        for step in _differentiable(inputs).split(1, dim=1):
            output, after = self.inner(step, state)
            state = tuple(part[:, 0] for part in after)
            self.states.append(after[0])  # which the output is, or is made of
            outputs.append(output)
            states.append(after)
        together = tuple(torch.cat(parts, dim=1) for parts in zip(*states, strict=True))
        return torch.cat(outputs, dim=1), together


def _instrument(model: Network) -> tuple[Network, list[_StepwiseUnit]]:
    """The model as in use, with the same weights and a watched unit in place of each."""
    watched: list[_StepwiseUnit] = []

    def watch(place: UnitLocation, inner: Unit) -> _StepwiseUnit:
        watched.append(_StepwiseUnit(place, inner))
        return watched[-1]

    changes = [(unit, partial(watch, place)) for place, unit in recurrent_units(model)]
    return instrument(model, changes), watched


def _gradients(total: Tensor, groups: list[list[Tensor]]) -> list[Float[Tensor, "B T D"]]:
    """The gradient with respect to each group of steps, side by side; 0 where none reaches."""
    steps = [step for group in groups for step in group]
    found = iter(torch.autograd.grad(total, steps, materialize_grads=True) if steps else ())
    return [torch.cat([next(found) for _ in group], dim=1) for group in groups]


def _step_mask(side: str, steps: int, sides: tuple[Tensor, Tensor]) -> Bool[Tensor, "B T"]:
    """Which of a unit's steps are not padding; a decoder may read the source before its target.

    Every step of a forecast, whose target is numbers, is real.
    """
    source = sides[0]
    if side == "encoder":
        return source
    if sides[1].is_floating_point():
        return source.new_ones(len(source), steps)
    target = sides[1].ne(EMPTY)
    before = max(0, steps - target.shape[1])
    return torch.cat([source[:, :before], target], dim=1)[:, :steps]


def _rows(values: Tensor, real: Bool[Tensor, "B T"]) -> tuple[np.ndarray, ...]:
    return tuple(_array(row[kept]) for row, kept in zip(values, real, strict=True))


def _differentiable(values: Tensor) -> Tensor:
    return values if values.requires_grad else values.detach().requires_grad_()


def _array(values: Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()


def draw_flows(flows: Mapping[str, UnitFlow], path: Path) -> None:
    """Draw the size of ∂C/∂h_t against the distance from the end as PNG or SVG, a line a unit.

    What is below a trillionth of the largest falls off the picture.
    """
    if not flows:
        raise DataError(
            f"{path}: nothing recurrent is there to draw; give at least one unit's flow"
        )
    labels, families = legible_labels([*flows], kind_of(path))
    lines = {label: flow.by_distance() for label, flow in zip(labels, flows.values(), strict=True)}
    save(path, partial(_fill, lines=lines), families=families)


def _fill(figure: "Figure", *, lines: Mapping[str, np.ndarray]) -> None:
    figure.set_size_inches(6.4, 3.6)
    fill_flows(figure.add_subplot(), lines)


def fill_flows(axes: "Axes", lines: Mapping[str, np.ndarray]) -> None:
    """Lines over a logarithmic axis, and a legend."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    for label, sizes in lines.items():
        marker = "." if len(sizes) <= FEW else ""
        axes.plot(np.where(sizes > 0, sizes, np.nan), marker=marker, linewidth=1.8, label=label)
    axes.set_xlim(-0.5, max(map(len, lines.values())) - 0.5)
    axes.set_yscale("log")
    axes.set_ylim(*_decades(np.concatenate([*lines.values()])))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda size, _: f"{size:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("steps before the last")
    axes.set_ylabel("size of ∂C/∂h")
    axes.legend(frameon=False, fontsize=9)
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)


def _decades(sizes: np.ndarray) -> tuple[float, float]:
    """The powers of ten around what is not zero, at most `DECADES` apart."""
    powers = np.log10(sizes[sizes > 0])
    if not len(powers):
        return 0.1, 1.0
    high = math.floor(powers.max()) + 1
    return 10.0 ** max(math.floor(powers.min()), high - DECADES), 10.0**high
