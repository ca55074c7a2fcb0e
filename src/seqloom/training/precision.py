"""What products are computed in: float32, or bfloat16 where the processor can (S6.6)."""

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
PRIMITIVES = 64  # shapes of products; an update uses about 50, and the next one others
BFLOAT16_FEATURES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


@cache
def has_bfloat16() -> bool:
    """Whether the processor has a unit for bfloat16."""
    able = torch.cpu.get_capabilities()
    return any(able.get(unit, False) for unit in BFLOAT16_FEATURES)


def bound_primitive_cache() -> None:
    """Let torch keep the code of fewer products in bfloat16, before it has made the first: each
    shape has code of its own, and the shapes of batches are many."""
    for name in PRIMITIVE_CACHES:
        os.environ.setdefault(name, str(PRIMITIVES))


def precision_of(config: TrainingConfig) -> Precision:
    """What products are computed in here."""
    if config.precision == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    return config.precision


def check_precision(config: TrainingConfig) -> None:
    """ConfigError where bfloat16 is asked of a processor that has no unit for it."""
    if config.precision == "bfloat16" and not has_bfloat16():
        raise ConfigError(
            "training.precision = 'bfloat16': this processor has no unit for it and would only "
            "lose time and accuracy",
            remedy="set it to auto or float32",
        )


def matmul_precision(precision: Precision) -> AbstractContextManager[None]:
    """Compute matrix products of the block in bfloat16, if so asked; sums and norms stay exact."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")
