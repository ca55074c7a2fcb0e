"""Gradients of a cost over time: ∂C/∂h_t of every recurrent unit (S6.8).

A unit's loop over time is a single step of autograd, so its intermediate states are not in the
graph. To differentiate them, each unit is replaced, in a copy of the model that shares all weights,
by one that is called step by step: it computes the same numbers, and a total derivative for every
state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.errors import DataError
from seqloom.explanations.instrumented_copy import UnitLocation, instrument, recurrent_units
from seqloom.explanations.parts import output_part
from seqloom.fields import EMPTY
from seqloom.model import Memory, Network
from seqloom.nn.units import Unit, UnitState
from seqloom.prediction import TextPredictor
from seqloom.prediction.batching import pad_batch
from seqloom.training import Example, row_log_probabilities

__all__ = [
    "CostFunction",
    "GradientFlow",
    "UnitFlow",
    "example_of",
    "gradient_flow",
    "mean_cross_entropy",
    "spectral_radii",
]

CostFunction = Callable[[Any, Memory, Int[Tensor, "B T"]], Float[Tensor, "B"]]
"""The cost of each sentence, from the decoder (or head), the memory and the target."""


@dataclass(frozen=True, eq=False)
class UnitFlow:
    """Gradients of a cost at one unit: ∂C/∂h_t of every step of each sentence, (T, D).

    Steps are in the unit's reading order: a backward unit ends at the first position. `cells` are
    ∂C/∂c_t of a unit with a memory cell, whose gradient reaches back through open forget gates.
    """

    location: UnitLocation
    gradients: tuple[np.ndarray, ...]
    radii: Mapping[str, float]  # spectral radius of each recurrent matrix, by its gate
    cells: tuple[np.ndarray, ...] = ()

    @property
    def norms(self) -> tuple[np.ndarray, ...]:
        """The norm of ∂C/∂h_t for each step of each sentence."""
        return tuple(np.linalg.norm(steps, axis=1) for steps in self.gradients)

    def by_distance(self) -> np.ndarray:
        """The mean norm 0, 1, 2, … steps before the last, over sentences of sufficient length."""
        return _mean_by_distance(self.norms)

    def cells_by_distance(self) -> np.ndarray | None:
        """The same means for ∂C/∂c_t; None without a memory cell."""
        sizes = [np.linalg.norm(steps, axis=1) for steps in self.cells]
        return _mean_by_distance(sizes) if sizes else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cells = self.cells_by_distance()
        return {
            **self.location._asdict(),
            "norms": [norms.tolist() for norms in self.norms],
            "by_distance": self.by_distance().tolist(),
            "spectral_radii": dict(self.radii),
            **({} if cells is None else {"cells_by_distance": cells.tolist()}),
        }


@dataclass(frozen=True, eq=False)
class GradientFlow:
    """Gradients of a cost at every state of a model (S6.8, S9).

    Bengio et al. 1994, Learning Long-Term Dependencies with Gradient Descent is Difficult; Pascanu
    et al. 2013, On the Difficulty of Training Recurrent Neural Networks.

    `memory` is the gradient norm at each position of the encoder's output, which attention
    propagates back; None if the encoder returns no states.
    """

    costs: np.ndarray  # (B,)
    units: tuple[UnitFlow, ...]  # empty without recurrent units
    memory: tuple[np.ndarray, ...] | None

    def by_location(self) -> dict[str, UnitFlow]:
        """The units by location."""
        return {str(unit.location): unit for unit in self.units}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        memory = None if self.memory is None else [norms.tolist() for norms in self.memory]
        units = [unit.as_dict() for unit in self.units]
        return {"costs": self.costs.tolist(), "units": units, "memory": memory}


def mean_cross_entropy(
    decoder: Any, memory: Memory, target: Int[Tensor, "B T"]
) -> Float[Tensor, "B"]:
    """Mean cross-entropy of each sentence, C = (1/T) Σ C_t, under teacher forcing (S6.1, S6.2)."""
    rows = row_log_probabilities(decoder, decoder.start(memory), target)
    return -rows.sum(dim=1) / target.ne(EMPTY).sum(dim=1)


def example_of(model: TextPredictor, pairs: Sequence[tuple[str, str]]) -> Example:
    """Sources and targets as one batch; a source too long for the model is truncated as in
    prediction.
    """
    if not pairs:
        raise DataError(
            "there is nothing to look at", remedy="give at least one pair of source and target"
        )
    reader = model.input_reader
    sources = [reader.truncate(0, row).values for row in model.source.rows([s for s, _ in pairs])]
    targets = model.target.rows([target for _, target in pairs])
    return Example(pad_batch(sources), pad_batch(targets).values)


def gradient_flow(
    model: Network, example: Example, *, cost: CostFunction = mean_cross_entropy
) -> GradientFlow:
    """The gradient of each sentence's cost with respect to every state it depends on.

    The model runs without dropout and is not changed. Sentences are independent: each has the
    gradients that it has alone.
    """
    with torch.enable_grad():
        seen, units = _instrument(model)
        memory = seen.encoder.encode(example.source)
        if memory.states is not None:
            memory = replace(memory, states=_differentiable(memory.states))
        costs = cost(output_part(seen), memory, example.target)
    units = [unit for unit in units if unit.states]
    handed = [] if memory.states is None else [[memory.states]]
    read = example.source.mask if memory.mask is None else memory.mask
    groups = [*(unit.states for unit in units), *(unit.cells for unit in units if unit.cells)]
    found = _gradients(costs.sum(), [*groups, *handed])
    cells = iter(found[len(units) :])
    flows = []
    for unit, gradients in zip(units, found, strict=False):
        real = _step_mask(unit.location.side, gradients.shape[1], (read, example.target))
        own: tuple[np.ndarray, ...] = ()
        if unit.cells:  # through the hidden state of its step, and through the next cell
            own = _rows(gradients * torch.cat(unit.slopes, dim=1) + next(cells), real)
        radii = spectral_radii(unit.inner)
        flows.append(UnitFlow(unit.location, _rows(gradients, real), radii, own))
    sizes = _rows(found[-1].norm(dim=2), read) if handed else None
    return GradientFlow(_array(costs), tuple(flows), sizes)


def spectral_radii(unit: Unit) -> dict[str, float]:
    """The spectral radius of each recurrent matrix, by its gate.

    Gradients vanish over time if the radius of a matrix stays below 1 (Pascanu et al. 2013, On the
    Difficulty of Training Recurrent Neural Networks).
    """
    return {
        gate: float(np.abs(np.linalg.eigvals(_array(matrix))).max())
        for gate, matrix in unit.recurrent_matrices().items()
    }


class _StepwiseUnit(Unit):
    """A unit that is called step by step and keeps its states in autograd's graph."""

    def __init__(self, place: UnitLocation, inner: Unit) -> None:
        super().__init__()
        self.location, self.inner = place, inner
        self.width, self.state_names = inner.width, inner.state_names
        self.states: list[Float[Tensor, "R 1 D"]] = []
        self.cells: list[Float[Tensor, "R 1 D"]] = []
        self.slopes: list[Float[Tensor, "R 1 D"]] = []  # ∂h/∂c

    def forward(
        self, inputs: Float[Tensor, "R T I"], state: UnitState
    ) -> tuple[Float[Tensor, "R T D"], tuple[Float[Tensor, "R T D"], ...]]:
        """Compute what the unit computes for all steps at once, up to rounding."""
        outputs, states = [], []
        for step in _differentiable(inputs).split(1, dim=1):
            output, after = self.inner(step, state)
            before, state = state, tuple(part[:, 0] for part in after)
            with torch.no_grad():
                slope = self.inner.cell_slope(step[:, 0], before, state)
            if slope is not None:
                self.cells.append(after[1])
                self.slopes.append(slope[:, None])
            self.states.append(after[0])  # the output, or part of it
            outputs.append(output)
            states.append(after)
        together = tuple(torch.cat(parts, dim=1) for parts in zip(*states, strict=True))
        return torch.cat(outputs, dim=1), together


def _instrument(model: Network) -> tuple[Network, list[_StepwiseUnit]]:
    """A copy of the model with shared weights and stepwise units."""
    watched: list[_StepwiseUnit] = []

    def watch(place: UnitLocation, inner: Unit) -> _StepwiseUnit:
        watched.append(_StepwiseUnit(place, inner))
        return watched[-1]

    changes = [(unit, partial(watch, place)) for place, unit in recurrent_units(model)]
    return instrument(model, changes), watched


def _gradients(total: Tensor, groups: list[list[Tensor]]) -> list[Float[Tensor, "B T D"]]:
    """The gradients of each group of steps, concatenated along time; 0 where there is none."""
    steps = [step for group in groups for step in group]
    found = iter(torch.autograd.grad(total, steps, materialize_grads=True) if steps else ())
    return [torch.cat([next(found) for _ in group], dim=1) for group in groups]


def _step_mask(side: str, steps: int, sides: tuple[Tensor, Tensor]) -> Bool[Tensor, "B T"]:
    """A mask of a unit's steps that are not padding; a decoder may read the source before its
    target.

    Every step of a forecast counts, since its target is numbers.
    """
    source = sides[0]
    if side == "encoder":
        return source
    if sides[1].is_floating_point():
        return source.new_ones(len(source), steps)
    target = sides[1].ne(EMPTY)
    before = max(0, steps - target.shape[1])
    return torch.cat([source[:, :before], target], dim=1)[:, :steps]


def _mean_by_distance(rows: Sequence[np.ndarray]) -> np.ndarray:
    """The mean 0, 1, 2, … steps before the last, over rows of sufficient length."""
    turned = [row[::-1] for row in rows]
    distances = range(max(map(len, turned)))
    return np.array([np.mean([row[d] for row in turned if d < len(row)]) for d in distances])


def _rows(values: Tensor, real: Bool[Tensor, "B T"]) -> tuple[np.ndarray, ...]:
    return tuple(_array(row[kept]) for row, kept in zip(values, real, strict=True))


def _differentiable(values: Tensor) -> Tensor:
    return values if values.requires_grad else values.detach().requires_grad_()


def _array(values: Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()
