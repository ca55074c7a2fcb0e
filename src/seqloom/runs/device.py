"""Where a model learns: on the processor or on a GPU, each rank of torchrun on its own."""

import os
from typing import NamedTuple

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError

__all__ = [
    "TorchrunEnvironment",
    "check_device",
    "learning_device",
    "torchrun_environment",
]

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class TorchrunEnvironment(NamedTuple):
    """This process's number among all, how many there are, and its number on this machine."""

    rank: int
    world: int
    local_rank: int

    @property
    def is_restarted(self) -> bool:
        """Whether the launcher has started the ranks before, with the same command."""
        return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def torchrun_environment() -> TorchrunEnvironment | None:
    """What a launcher has put into the environment; None where nothing did."""
    if any(name not in os.environ for name in NAMES):
        return None
    values = [os.environ[name] for name in NAMES[:3]]
    if not all(value.isdecimal() for value in values) or not int(values[0]) < int(values[1]):
        told = ", ".join(f"{name}={os.environ[name]}" for name in NAMES[:3])
        raise ConfigError(
            f"the environment says {told}", remedy="start with torchrun, or unset RANK"
        )
    return TorchrunEnvironment(*map(int, values))


def check_device(config: TrainingConfig) -> None:
    """ConfigError where a GPU is asked for and torch finds none."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "training.device = 'cuda': torch finds no GPU here",
            remedy="leave it at auto, or install torch with CUDA on a machine that has one",
        )


def learning_device(config: TrainingConfig) -> torch.device:
    """The device that this process learns on."""
    check_device(config)
    if config.device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    place = torchrun_environment()
    return torch.device("cuda", 0 if place is None else place.local_rank)
