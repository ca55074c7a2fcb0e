"""Named tensors as the bytes of a safetensors file, and back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from seqloom.errors import DivergedError, RunError
from seqloom.store.safe_files import LARGEST_JSON, parse_json

__all__ = ["LARGEST_START", "Tensors", "check_header", "pack", "require_finite", "unpack"]

Tensors = Mapping[str, Tensor | NDArray[Any]]

LENGTH_BYTES = 8
LARGEST_START = LENGTH_BYTES + LARGEST_JSON
SMALLEST_HEADER = len("{}")

# What the library raises on bytes that a stranger made up.
DECODE_ERRORS = (
    SafetensorError,
    ArithmeticError,
    AssertionError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


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


def check_header(start: bytes, size: int, *, place: Path) -> None:
    """RunError unless a file of this size may begin so: a sane header that accounts for all of it.

    The first LARGEST_START bytes are enough, so a huge file is refused without reading the rest.
    """
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if not SMALLEST_HEADER <= length <= min(LARGEST_JSON, size - LENGTH_BYTES):
        raise RunError(
            "not a safetensors file", place=place, remedy="restore it or remove its step"
        )
    header = parse_json(start[LENGTH_BYTES : LENGTH_BYTES + length], place)
    ends = [_end(entry) for name, entry in header.items() if name != "__metadata__"]
    if LENGTH_BYTES + length + max(ends, default=0) != size:
        raise RunError(
            f"its header does not fit its {size} bytes", place=place, remedy="remove the step"
        )


def _end(entry: object) -> int:
    match entry:
        case {"data_offsets": [int(), int(end)]}:
            return end
    return -1


def unpack(data: bytes, *, place: Path) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file, or a RunError; nothing in it is executed."""
    try:
        tensors = safetensors.load(data)
    except DECODE_ERRORS as error:
        raise RunError(
            f"not a safetensors file ({error})", place=place, remedy="restore it or remove its step"
        ) from error
    return dict(sorted(tensors.items()))
