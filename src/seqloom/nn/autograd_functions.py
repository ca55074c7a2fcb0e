"""Application of autograd functions with hand-written gradients, under autocast or not."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["apply_function"]


def apply_function(
    function: type[torch.autograd.Function], *values: Any, matrix: Tensor | None = None
) -> Any:
    """Apply a function to a matrix, where there is one, and to these values.

    Under autocast the matrix is cast to the lower precision, and products with it are computed in
    that; everything else is computed in full precision.
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
