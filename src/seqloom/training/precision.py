"""Whether this machine computes in bfloat16 rather than imitating it (SPEC S6.6)."""

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError

__all__ = ["check_precision"]

UNITS = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


def check_precision(config: TrainingConfig) -> None:
    """ConfigError where bfloat16 is asked of a processor that has no unit for it."""
    if config.precision == "float32":
        return
    able = torch.cpu.get_capabilities()
    if not any(able.get(unit, False) for unit in UNITS):
        raise ConfigError(
            "training.precision = 'bfloat16': this processor has no unit for it and would only "
            "lose time and accuracy; leave it at float32"
        )
