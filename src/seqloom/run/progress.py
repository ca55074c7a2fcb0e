"""What a run remembers beside its tensors: counters and held-out results (progress.json)."""

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from seqloom.errors import RunError

__all__ = ["Progress", "Validation", "surroundings"]

Monitor = Literal["loss", "metric"]


@dataclass(frozen=True)
class Validation:
    """Held-out results of the weights that would be used after this many updates."""

    step: int
    loss: float  # nats per token, without smoothing
    chrf: float
    bleu: float
    exact: float  # percent

    def value(self, monitor: Monitor) -> float:
        """What is compared: larger is better."""
        return -self.loss if monitor == "loss" else self.chrf


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    seconds: float = 0.0  # of training and validating, over all sittings
    validations: tuple[Validation, ...] = ()
    surroundings: Mapping[str, Any] = field(default_factory=dict)

    def best(self, monitor: Monitor) -> Validation | None:
        """The validation to use; the earliest among equals."""
        ranked = sorted(self.validations, key=lambda each: (-each.value(monitor), each.step))
        return ranked[0] if ranked else None

    def without_progress(self, monitor: Monitor) -> int:
        """Validations since the best one."""
        best = self.best(monitor)
        return 0 if best is None else len(self.validations) - 1 - self.validations.index(best)

    def averaged_with(self, monitor: Monitor, kind: str, count: int) -> list[int]:
        """Validated steps, the newest apart, whose weights are averaged with the newest ones."""
        earlier = list(self.validations)
        if kind == "best":
            earlier.sort(key=lambda each: each.value(monitor))
        return (
            [each.step for each in earlier[-(count - 1) :]] if kind != "none" and count > 1 else []
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Progress":
        """The inverse of `as_dict`."""
        try:
            validations = tuple(Validation(**each) for each in values["validations"])
            return cls(values["step"], values["seconds"], validations, values["surroundings"])
        except (KeyError, TypeError) as error:
            raise RunError(f"progress.json does not say what it should ({error})") from None


def surroundings() -> dict[str, Any]:
    """What bit-identical resumption depends on besides the run itself (RELIABILITY)."""
    return {
        "machine": platform.machine(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }
