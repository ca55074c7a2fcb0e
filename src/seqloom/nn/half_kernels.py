"""The compiled core's kernels for training in bfloat16, through ctypes."""

import ctypes
import os
import sys
from ctypes import CFUNCTYPE, POINTER, c_float, c_int32, c_int64, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["AttentionStructure", "HeadsStructure", "half_kernels", "uses_half_kernels"]

PLACE = (
    "SEQLOOM_ENGINE_LIBRARY"  # environment variable: a library to use instead of the installed one
)
NAME = "_core.dylib" if sys.platform == "darwin" else "_core.so"
LIBRARY = Path(__file__).parents[1] / "engine" / NAME


class HeadsStructure(ctypes.Structure):
    """sl_heads."""

    _fields_ = [
        ("values", c_void_p),
        ("sentence", c_int64),
        ("step", c_int64),
        ("head", c_int64),
    ]


class AttentionStructure(ctypes.Structure):
    """sl_attention."""

    _fields_ = [
        *((name, c_int32) for name in ("sentences", "heads", "steps", "seen", "size", "causal")),
        ("scale", c_float),
        ("mask", c_void_p),
        *((name, HeadsStructure) for name in ("query", "key", "value")),
        *((name, HeadsStructure) for name in ("to_query", "to_key", "to_value")),
        ("weights", c_void_p),
        ("out", c_void_p),
    ]


def _function(pointers: int, *others: Any, result: Any = None) -> Any:
    return CFUNCTYPE(result, *[c_void_p] * pointers, *others)


_Attend = CFUNCTYPE(c_int32, POINTER(AttentionStructure))


class KernelsStructure(ctypes.Structure):
    """sl_training."""

    _fields_ = [
        ("drop", _function(2, c_int64, c_uint64, c_int32)),
        ("add", _function(3, c_int64, c_uint64, c_int32)),
        ("add_back", _function(2, c_int64, c_uint64, c_int32)),
        ("relu", _function(2, c_int64, c_uint64, c_int32)),
        ("relu_back", _function(3, c_int64, c_int32)),
        ("norm", _function(6, c_int64, c_int32, c_float)),
        ("norm_back", _function(8, c_int64, c_int32)),
        ("loss", _function(5, c_int64, c_int32, c_float)),
        ("pair_loss", _function(5, c_int64, c_int32, c_float, c_float)),
        ("attend", _Attend),
        ("attend_back", _Attend),
        ("lstm", _function(8, c_int64, c_int32)),
        ("lstm_back", _function(6, c_int64, c_int32)),
    ]


@lru_cache(maxsize=1)
def half_kernels() -> Any:
    """The kernels, or None without the compiled core or a processor with bfloat16."""
    try:
        library = ctypes.CDLL(str(Path(os.environ.get(PLACE) or LIBRARY)))
        found = library.sl_training_kernels
    except (OSError, AttributeError):
        return None
    found.restype = POINTER(KernelsStructure)
    table = found()
    return table.contents if table else None


def uses_half_kernels(*values: Tensor) -> bool:
    """Whether gradients are recorded under CPU autocast and the kernels can be used for these
    tensors.
    """
    return (
        torch.is_autocast_enabled("cpu")
        and torch.is_grad_enabled()
        and all(value.is_cpu for value in values)
        and half_kernels() is not None
    )
