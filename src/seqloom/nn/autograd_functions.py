"""Functions whose gradient is written by hand, in whatever precision products are computed."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["apply_function"]


def apply_function(
    function: type[torch.autograd.Function], *values: Any, matrix: Tensor | None = None
) -> Any:
    """What the function gives of a matrix, where there is one, and these values.

    Under autocast it computes in full precision all the same, but for products with the matrix,
    which has the precision that they are to have.
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
