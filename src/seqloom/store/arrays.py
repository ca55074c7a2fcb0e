"""The bytes of safetensors files as arrays, for which torch is not needed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from seqloom.errors import RunError

__all__ = ["decode", "unpack_arrays"]

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
Value = TypeVar("Value")


def decode(
    load: Callable[[bytes], Mapping[str, Value]], data: bytes, *, place: Path
) -> dict[str, Value]:
    """What is in the bytes of a safetensors file, by name, or a RunError; nothing is executed."""
    try:
        values = load(data)
    except DECODE_ERRORS as error:
        raise RunError(
            f"not a safetensors file ({error})", place=place, remedy="restore it or remove its step"
        ) from error
    return dict(sorted(values.items()))


def unpack_arrays(data: bytes, *, place: Path) -> dict[str, np.ndarray]:
    """The arrays in the bytes of a safetensors file, or a RunError."""
    return decode(safetensors.load, data, place=place)
