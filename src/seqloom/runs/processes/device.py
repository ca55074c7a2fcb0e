"""The device and threads of torch, and other conditions of bit-identical results."""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError
from seqloom.runs.process import torchrun_environment
from seqloom.training import precision_of

__all__ = ["check_gpu", "learning_device", "surroundings", "threads"]


def check_gpu() -> None:
    """Raise ConfigError if training.device requests a GPU and torch finds none."""
    if not torch.cuda.is_available():
        raise ConfigError(
            "training.device = 'cuda': torch finds no GPU here",
            remedy="leave it at auto, or install torch with CUDA on a machine that has one",
        )


def learning_device(config: TrainingConfig) -> torch.device:
    """The training device of this process."""
    if config.device == "cuda":
        check_gpu()
    if config.device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    place = torchrun_environment()
    return torch.device("cuda", 0 if place is None else place.local_rank)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set torch's number of threads within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def surroundings(training: TrainingConfig, workers: int) -> dict[str, Any]:
    """What bit-identical resumption depends on besides the run itself (RELIABILITY)."""
    return {
        "machine": platform.machine(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "precision": precision_of(training),
        "workers": workers,
    }
