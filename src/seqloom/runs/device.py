"""Where a model learns: on the processor, or on a GPU, each rank on its own."""

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError
from seqloom.runs.processes.torchrun_environment import torchrun_environment

__all__ = ["check_device", "learning_device"]


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
