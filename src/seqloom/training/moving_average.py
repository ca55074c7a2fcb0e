"""An exponential moving average of the weights, updated after every step (S6.6)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from seqloom.errors import RunError

__all__ = ["MovingAverage"]


class MovingAverage:
    """An exponential moving average of a model's weights.

    Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._model = model
        self._decay = decay
        self._means = {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the weights after `step` updates; early ones replace the average."""
        decay = min(self._decay, step / (step + 10))
        for mean, weight in zip(self._means.values(), self._model.parameters(), strict=True):
            mean.lerp_(weight, 1 - decay)

    def tensors(self) -> dict[str, Tensor]:
        """The averages by parameter name."""
        return self._means

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        for name, mean in self._means.items():
            if name not in tensors or tensors[name].shape != mean.shape:
                raise RunError(f"the saved average has nothing that fits {name}")
            mean.copy_(tensors[name])
