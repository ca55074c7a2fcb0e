"""Weights as named tensors, each once, however many parts share it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seqloom.errors import RunError

__all__ = ["check_fit", "load_weights", "materialize", "meta_device", "weights"]

DRAWS = ("normal_", "uniform_")


class _Uncompiled(TorchFunctionMode):
    """Does without what torch would load its compiler for: drawing first weights that have no
    memory, and asking for the memory of others like them."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__name__", "") in DRAWS:
            return named["tensor"] if "tensor" in named else args[0]
        if func is torch.empty_like:
            return torch.empty(args[0].shape, dtype=args[0].dtype, **named)
        return func(*args, **named)


@contextmanager
def meta_device() -> Iterator[None]:
    """Models that are built here have names and shapes, but no weights."""
    with torch.device("meta"), _Uncompiled():
        yield


def materialize(model: nn.Module) -> None:
    """Room for the weights of a model that was built without."""
    with _Uncompiled():
        model.to_empty(device="cpu")


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter under its first name; a tied table appears once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """Put saved weights into a model of just their names and shapes."""
    check_fit(model, tensors, place=place)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])


def check_fit(model: nn.Module, tensors: Mapping[str, Tensor], *, place: str) -> None:
    """RunError unless the tensors have just the names and shapes of the model's parameters."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ tensors.keys())
    wrong += [
        name
        for name in parameters
        if name in tensors and parameters[name].shape != tensors[name].shape
    ]
    if wrong:
        raise RunError(f"{wrong[0]} does not fit the model that config.toml describes", place=place)
