"""Weights as named tensors, each once, however many parts share it."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from seqloom.errors import RunError

__all__ = ["load_weights", "weights"]


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter under its first name; a tied table appears once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """Put saved weights into a model of just their names and shapes."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ tensors.keys())
    wrong += [
        name
        for name in parameters
        if name in tensors and parameters[name].shape != tensors[name].shape
    ]
    if wrong:
        raise RunError(f"{place}: {wrong[0]} does not fit the model that config.toml describes")
    for name, parameter in parameters.items():
        parameter.copy_(tensors[name])
