"""Tensors as the bytes of safetensors files, and their mean."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors import torch as safetensors
from torch import Tensor

from seqloom.errors import DivergedError, RunError
from seqloom.store.arrays import decode

__all__ = ["Tensors", "average_tensors", "pack", "require_finite", "unpack"]

Tensors = Mapping[str, Tensor | NDArray[Any]]


def require_finite(tensors: Tensors, *, place: str) -> None:
    """Refuse the first tensor that holds a NaN or an infinity, by name."""
    for name, value in tensors.items():
        if not bool(torch.isfinite(torch.as_tensor(value)).all()):
            raise DivergedError(
                f"tensor {name} is not finite, so the step is not saved",
                place=place,
                remedy="go on from the last saved step with a lower training.rate",
            )


def pack(tensors: Tensors, *, metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file; names that share memory are each written out."""
    seen: set[int] = set()
    separate: dict[str, Tensor] = {}
    for name, value in tensors.items():
        tensor = torch.as_tensor(value).detach().cpu().contiguous()
        storage = tensor.untyped_storage().data_ptr()
        separate[name] = tensor.clone() if storage in seen else tensor
        seen.add(storage)
    return safetensors.save(separate, metadata)


def unpack(data: bytes, *, place: Path) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file, or a RunError."""
    return decode(safetensors.load, data, place=place)


def average_tensors(sets: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of the same tensors over several sets, in float64.

    Tensors that are not floating point (counters, masks) are those of the last set.
    """
    totals: dict[str, Tensor] = {}
    last: Mapping[str, Tensor] = {}
    count = 0
    for count, last in enumerate(sets, 1):
        if totals and _shapes(last) != _shapes(totals):
            raise RunError(
                "steps of different shapes cannot be averaged", remedy="take them from one run"
            )
        for name, tensor in last.items():
            totals[name] = tensor.double() + totals[name] if count > 1 else tensor.double()
    return {
        name: (totals[name] / count).to(tensor.dtype) if tensor.is_floating_point() else tensor
        for name, tensor in last.items()
    }


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}
