"""What the tests of networks share: weights far from their first values, and drawn inputs."""

from typing import TypeVar

import torch
from torch import Tensor, nn

from seqloom.nn.units import Lstm

__all__ = ["in_torch_s_order", "lstm_weights", "stirred", "values"]

Kind = TypeVar("Kind", bound=nn.Module)

torch.set_num_threads(1)  # for tensors this small, threads only wait for one another


def stirred(module: Kind) -> Kind:
    """The module in float64 with noise on every weight, so that none is zero and none is one."""
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return module


def lstm_weights(unit: Lstm) -> tuple[Tensor, Tensor, Tensor]:
    """From the input, from the hidden state, and the bias; gates are i, f, o, candidate."""
    return unit.project.weight, unit.recur, unit.project.bias


def in_torch_s_order(weight: Tensor) -> Tensor:
    """The rows of a weight or bias as torch has them: i, f, candidate, o."""
    enter, keep, show, candidate = weight.chunk(4)
    return torch.cat([enter, keep, candidate, show])


def values(*shape: int) -> Tensor:
    """Normal draws that follow from the shape."""
    draw = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, dtype=torch.float64, generator=draw)
