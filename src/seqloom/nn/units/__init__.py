"""Recurrent units: `s_i = R(s_{i-1}, x_i)` over whole sequences (S2).

A unit projects all its inputs in one product, then loops over time with one product a step (two
where the GRU resets before it). The gradients of the loops are written by hand (Werbos 1990,
Backpropagation Through Time): whatever needs no other step is computed for all steps at once,
above all the gradient of the recurrent weights. Without gradients, only the states are kept.
"""

from seqloom.nn.units.elman import Activation, Elman
from seqloom.nn.units.gru import Gru, ResetOrder, UpdateConvention
from seqloom.nn.units.hard_gate import hard_gate
from seqloom.nn.units.initialization import WeightInitialization
from seqloom.nn.units.lstm import Lstm
from seqloom.nn.units.protocol import Unit, UnitState
from seqloom.nn.units.ssru import Ssru

__all__ = [
    "Activation",
    "Elman",
    "Gru",
    "Lstm",
    "ResetOrder",
    "Ssru",
    "Unit",
    "UnitState",
    "UpdateConvention",
    "WeightInitialization",
    "hard_gate",
]
