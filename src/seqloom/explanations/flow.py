"""Gradient norms, spectral radii and gates of recurrent units together (S6.8).

Gate activations of recurrent units over time, and the half-lives of their memory.

At each step a unit of an LSTM retains the share f of its cell, one of a GRU z of its state (or 1 −
z, by configuration), one of an SSRU f. After n steps the product of n shares remains; a unit's
half-life is the number of steps until that is a half, `ln ½ / mean ln share`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqloom.display import Displayed
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.explained_output import ExplainedOutput
from seqloom.explanations.gradients import GradientFlow, gradient_flow
from seqloom.explanations.instrumented_copy import UnitLocation
from seqloom.explanations.plain_values import round_values
from seqloom.explanations.tracing import Trace, UnitTrace, position_labels, trace_output
from seqloom.fields import Values
from seqloom.nn.units import Unit
from seqloom.prediction import Predictor
from seqloom.prediction.batching import pad_batch
from seqloom.remedies import Remedy, Setting
from seqloom.training import Example

__all__ = [
    "Flow",
    "UnitGates",
    "collect_gates",
    "compute_gates",
    "flow_of",
]

LONGEST_LIVED = 5  # listed units
LEAST = 1e-30  # smallest share


@dataclass(frozen=True, eq=False)
class UnitGates:
    """The gates of one unit at every step of every input, by name; each table is (T, D)."""

    location: UnitLocation
    symbols: tuple[tuple[str, ...], ...]  # the items of each input
    gates: Mapping[str, tuple[np.ndarray, ...]]
    retention: tuple[np.ndarray, ...]  # share of the state retained

    def means(self) -> dict[str, np.ndarray]:
        """The mean of each gate over all steps and inputs, for each dimension of the state."""
        return {name: np.concatenate(each).mean(axis=0) for name, each in self.gates.items()}

    def half_lives(self) -> np.ndarray:
        """Half-life in steps of each dimension, from its mean log retention."""
        logs = np.log(np.maximum(np.concatenate(self.retention), LEAST)).mean(axis=0)
        with np.errstate(divide="ignore"):
            lives: np.ndarray = np.log(2) / np.maximum(-logs, 0)
        return lives

    def longest_lived(self, count: int = LONGEST_LIVED) -> list[tuple[int, float]]:
        """The dimensions with the longest half-lives, counted from 0."""
        lives = self.half_lives()
        order = np.argsort(-lives, kind="stable")[:count]
        return [(int(unit), float(lives[unit])) for unit in order]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite half-life is None."""
        return {
            **self.location._asdict(),
            "symbols": [list(each) for each in self.symbols],
            "gates": {name: [round_values(table) for table in t] for name, t in self.gates.items()},
            "means": {name: round_values(mean) for name, mean in self.means().items()},
            "half_lives": [
                None if np.isinf(life) else round(float(life), 4) for life in self.half_lives()
            ],
        }


def collect_gates(passes: Sequence[Trace]) -> tuple[UnitGates, ...]:
    """The gates of every unit with a known retention, over traces of one model."""
    found = []
    for stretches in zip(*(each.unit_traces for each in passes), strict=True):
        tables = [compute_gates(stretch) for stretch in stretches]
        kept = [_retention(stretches[0].unit, table) for table in tables if table]
        shares = tuple(each for each in kept if each is not None)
        if len(shares) == len(stretches):
            found.append(_join_inputs(stretches, tables, shares))
    return tuple(found)


def compute_gates(stretch: UnitTrace) -> dict[str, np.ndarray]:
    """The gates of a unit at each step, by name; empty if it has none."""
    with torch.no_grad():
        gates = stretch.unit.gates(stretch.inputs, stretch.before)
    return {name: gate.double().numpy() for name, gate in gates.items()}


def _retention(unit: Unit, gates: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The share of its state that a unit retains at each step; None if unknown."""
    shares = unit.retention({name: torch.from_numpy(gate) for name, gate in gates.items()})
    return None if shares is None else shares.numpy()


def _join_inputs(
    stretches: Sequence[UnitTrace],
    tables: Sequence[Mapping[str, np.ndarray]],
    retention: tuple[np.ndarray, ...],
) -> UnitGates:
    """Join one unit's tables over several inputs."""
    gates = {name: tuple(table[name] for table in tables) for name in tables[0]}
    symbols = tuple(stretch.symbols for stretch in stretches)
    return UnitGates(stretches[0].location, symbols, gates, retention)


@dataclass(frozen=True, eq=False)
class Flow(Displayed):
    """Gradients at every state, and retention by gates, over some inputs and outputs."""

    outputs: tuple[ExplainedOutput, ...]
    gradients: GradientFlow
    gates: tuple[UnitGates, ...]  # empty if no unit has gates

    @property
    def cost(self) -> str:
        """The name of the cost C."""
        return self.outputs[0].cost_description

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "cost": self.cost,
            "pairs": [{"source": list(p.source), "target": list(p.target)} for p in self.outputs],
            **self.gradients.as_dict(),
            "gates": [unit.as_dict() for unit in self.gates],
        }

    def memory_labels(self) -> list[tuple[str, ...]]:
        """The labels of the encoder's output positions for each source."""
        if self.gradients.memory is None:
            return [said.source for said in self.outputs]
        return [
            position_labels(said.source, len(sizes))
            for said, sizes in zip(self.outputs, self.gradients.memory, strict=True)
        ]


def flow_of(model: Predictor, outputs: Sequence[ExplainedOutput]) -> Flow:
    """Compute the gradient flow back from these outputs of one model."""
    if not outputs:
        raise DataError("there is nothing to look at", remedy="give at least one input")
    source = pad_batch([each.values for each in outputs])
    gradients = gradient_flow(
        model.network, Example(source, _targets(outputs)), cost=outputs[0].cost
    )
    if not gradients.units and gradients.memory is None:
        raise ConfigError(
            "nothing flows back through time here, as no part is recurrent and no encoder hands "
            "on states",
            remedy=Remedy("try {}, attention or steps", Setting("show", "gradients")),
        )
    traces = [trace_output(model.network, each) for each in outputs]
    return Flow(tuple(outputs), gradients, collect_gates(traces))


def _targets(outputs: Sequence[ExplainedOutput]) -> Tensor:
    """The output ids; zeros, which the cost ignores, if the outputs are not symbols."""
    rows: list[Values] = [row for each in outputs if (row := each.target_row()) is not None]
    return pad_batch(rows).values if len(rows) == len(outputs) else torch.zeros(len(outputs), 1, 1)
