"""Apply autograd functions with hand-written gradients, with or without autocast."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["apply_function"]


def apply_function(
    function: type[torch.autograd.Function], *values: Any, matrix: Tensor | None = None
) -> Any:
    """Apply a function to a matrix, if there is one, and to these values.

    Under autocast, products with the matrix are computed in the lower precision, everything else in
    full precision.
    """
    matrices = () if matrix is None else (matrix,)
    if not torch.is_autocast_enabled("cpu"):
        return function.apply(*matrices, *values)
    halved = (each.to(torch.get_autocast_dtype("cpu")) for each in matrices)
    with torch.autocast("cpu", enabled=False):
        return function.apply(*halved, *map(_to_full_precision, values))


def _to_full_precision(value: Any) -> Any:
    half = isinstance(value, Tensor) and value.dtype == torch.bfloat16
    return value.float() if half else value
