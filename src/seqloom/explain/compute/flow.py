"""Gradient norms, spectral radii and gates of recurrent units together (S6.8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seqloom.errors import ConfigError, DataError
from seqloom.explain.compute.explained_output import ExplainedOutput
from seqloom.explain.compute.gates import UnitGates, collect_gates
from seqloom.explain.compute.gradients import GradientFlow, gradient_flow
from seqloom.explain.compute.tracing import position_labels, trace_output
from seqloom.fields import Values
from seqloom.prediction import Predictor
from seqloom.prediction.inputs import pad_batch
from seqloom.remedies import Remedy, Setting
from seqloom.training import Example

__all__ = ["Flow", "flow_of"]


@dataclass(frozen=True, eq=False)
class Flow:
    """The gradient at every state, and what gates kept, over some inputs and their outputs."""

    outputs: tuple[ExplainedOutput, ...]
    gradients: GradientFlow
    gates: tuple[UnitGates, ...]  # none where no unit has gates

    @property
    def cost(self) -> str:
        """What C is, of which the gradients are taken."""
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
        """The positions of each source that the encoder hands on."""
        if self.gradients.memory is None:
            return [said.source for said in self.outputs]
        return [
            position_labels(said.source, len(sizes))
            for said, sizes in zip(self.outputs, self.gradients.memory, strict=True)
        ]


def flow_of(model: Predictor, outputs: Sequence[ExplainedOutput]) -> Flow:
    """How gradients flow back from these outputs of one model."""
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
    """The outputs as ids; as zeros, which the cost ignores, where they are not symbols."""
    rows: list[Values] = [row for each in outputs if (row := each.target_row()) is not None]
    return pad_batch(rows).values if len(rows) == len(outputs) else torch.zeros(len(outputs), 1, 1)
