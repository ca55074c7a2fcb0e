"""Whether this machine computes in bfloat16 rather than imitating it (S6.6)."""

from functools import cache

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError
from seqloom.training.loss import Precision

__all__ = ["check_precision", "precision_of"]

BFLOAT16_FEATURES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


@cache
def has_bfloat16() -> bool:
    """Whether the processor has a unit for bfloat16."""
    able = torch.cpu.get_capabilities()
    return any(able.get(unit, False) for unit in BFLOAT16_FEATURES)


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
