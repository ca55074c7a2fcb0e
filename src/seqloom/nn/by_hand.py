"""Functions whose gradient is written by hand, in whatever precision products are computed."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["apply_by_hand"]


def apply_by_hand(function: type[torch.autograd.Function], *values: Any) -> Any:
    """What the function gives; under autocast it is computed in full precision all the same."""
    if not torch.is_autocast_enabled("cpu"):
        return function.apply(*values)
    with torch.autocast("cpu", enabled=False):
        return function.apply(*map(_in_full, values))


def _in_full(value: Any) -> Any:
    half = isinstance(value, Tensor) and value.dtype == torch.bfloat16
    return value.float() if half else value
