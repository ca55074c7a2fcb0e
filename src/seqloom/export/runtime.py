"""The interface of export runtimes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.errors import ConfigError
from seqloom.export.agreement import Agreement
from seqloom.prediction import Predictor
from seqloom.remedies import Setting

__all__ = ["Runtime", "require_library"]


class Runtime(ABC):
    """Writes a model for another runtime, and verifies its output.

    To add one, register its options with `RUNTIMES.options` and its class with `RUNTIMES.part`.
    """

    @abstractmethod
    def write(self, model: Predictor, output: Path) -> None:
        """Write the directory atomically; ConfigError names an unsupported option."""

    @abstractmethod
    def compare(self, model: Predictor, folder: Path, rows: Sequence[np.ndarray]) -> Agreement:
        """Compare the exported model with the original on encoded sources."""


def require_library(name: str, *, runtime: str, extra: str) -> Any:
    """Import a library or a module of it; ConfigError names the extra to install."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ConfigError(
            f"needs the package {package}",
            place=Setting("to", runtime),
            remedy=f"pip install 'seqloom[{extra}]'",
        ) from None
