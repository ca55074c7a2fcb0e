"""The initial weights of a unit, selectable by name (S2)."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

__all__ = ["WeightInitialization", "draw_input_weights", "draw_recurrent_weights"]

WeightInitialization = Literal["orthogonal", "glorot", "uniform", "normal"]
"""How the matrices of a unit are initialized; under "orthogonal", those of its inputs by Glorot.

With N columns, "uniform" is within ±1/√N and "normal" has a standard deviation of 1/√N.
"""


def draw_input_weights(project: nn.Linear, weights: WeightInitialization) -> None:
    """Initialize the matrix that multiplies the inputs; its bias starts at zero.

    Glorot and Bengio 2010, Understanding the Difficulty of Training Deep Feedforward Neural
    Networks.
    """
    _INITIALIZERS["glorot" if weights == "orthogonal" else weights](project.weight)
    if project.bias is not None:
        nn.init.zeros_(project.bias)


def draw_recurrent_weights(recur: Tensor, weights: WeightInitialization) -> None:
    """Initialize the square matrices of all gates, which lie one below the other.

    Saxe et al. 2014, Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural
    Networks.
    """
    for gate in recur.detach().split(recur.shape[1]):
        _INITIALIZERS[weights](gate)


def _uniform(matrix: Tensor) -> Tensor:
    bound = matrix.shape[1] ** -0.5
    return nn.init.uniform_(matrix, -bound, bound)


def _normal(matrix: Tensor) -> Tensor:
    return nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)


_INITIALIZERS: dict[WeightInitialization, Callable[[Tensor], Tensor]] = {
    "orthogonal": nn.init.orthogonal_,
    "glorot": nn.init.xavier_uniform_,
    "uniform": _uniform,
    "normal": _normal,
}
