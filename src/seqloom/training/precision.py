"""The precision of matrix products: float32, or bfloat16 where the processor supports it (S6.6)."""

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Literal

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError

__all__ = [
    "Precision",
    "bound_primitive_cache",
    "check_precision",
    "matmul_precision",
    "precision_of",
]

Precision = Literal["float32", "bfloat16"]
PRIMITIVE_CACHES = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"  # in the environment
PRIMITIVES = 64  # cached shapes of products; an update uses about 50, mostly new ones
BFLOAT16_FEATURES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


@cache
def has_bfloat16() -> bool:
    """Whether the processor has a unit for bfloat16."""
    able = torch.cpu.get_capabilities()
    return any(able.get(unit, False) for unit in BFLOAT16_FEATURES)


def bound_primitive_cache() -> None:
    """Limit oneDNN's cache of generated code, before its first use: each shape of a bfloat16
    product has code of its own, and batches have many shapes.
    """
    for name in PRIMITIVE_CACHES:
        os.environ.setdefault(name, str(PRIMITIVES))


def precision_of(config: TrainingConfig) -> Precision:
    """The precision of matrix products on this machine."""
    if config.precision == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    return config.precision


def check_precision(config: TrainingConfig) -> None:
    """ConfigError if bfloat16 is configured and the processor has no unit for it."""
    if config.precision == "bfloat16" and not has_bfloat16():
        raise ConfigError(
            "training.precision = 'bfloat16': this processor has no unit for it and would only "
            "lose time and accuracy",
            remedy="set it to auto or float32",
        )


def matmul_precision(precision: Precision) -> AbstractContextManager[None]:
    """Compute matrix products in the block in bfloat16 if configured; sums and norms stay in
    float32.
    """
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")
