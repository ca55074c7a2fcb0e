"""What torch computes on: a device, threads, and what else the bits of a result depend on."""

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
    """ConfigError where torch finds no GPU, which training.device asks for."""
    if not torch.cuda.is_available():
        raise ConfigError(
            "training.device = 'cuda': torch finds no GPU here",
            remedy="leave it at auto, or install torch with CUDA on a machine that has one",
        )


def learning_device(config: TrainingConfig) -> torch.device:
    """The device that this process learns on."""
    if config.device == "cuda":
        check_gpu()
    if config.device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    place = torchrun_environment()
    return torch.device("cuda", 0 if place is None else place.local_rank)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for torch within the block."""
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
