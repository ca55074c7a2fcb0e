"""Serialize packed encoders and decoders as named arrays and plain values, and restore them.

A stored form has the packed weights, and of the float32 weights the sizes alone. It is restored by
packing zeros of those sizes and filling in the stored arrays, so that no file can make the core
read beyond the arrays that it is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from seqloom.engine.matrices import Norm, Precision
from seqloom.engine.packed import AffineArrays, PackedStack, ReadingTurn
from seqloom.engine.recurrent_stacks import (
    AttentionArrays,
    FirstArrays,
    LayerArrays,
    RecurrentArrays,
    ScoreArrays,
    UnitArrays,
    WindowArrays,
    WiringArrays,
)
from seqloom.engine.stacks import BlockArrays, Heads, StackArrays
from seqloom.engine.stored_sizes import check_pair, check_sizes
from seqloom.errors import LimitError, RunError
from seqloom.remedies import Command, Remedy

__all__ = ["StoredStack", "byte_count", "check_sides", "restore_stack", "store_stack"]

PARTS: tuple[type, ...] = (
    AffineArrays,
    AttentionArrays,
    BlockArrays,
    FirstArrays,
    Heads,
    LayerArrays,
    Norm,
    ReadingTurn,
    RecurrentArrays,
    ScoreArrays,
    StackArrays,
    UnitArrays,
    WindowArrays,
    WiringArrays,
)
CLASSES = {each.__name__: each for each in PARTS}
TABLES = ("places", "angles")  # functions of the number of positions
LARGEST_VALUES = 16_384  # of an array among the values of a form; of larger ones the size is kept
MAKE_AGAIN = Remedy("make it again with {}", Command("optimize", "DIR"))
FAULTS = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)  # of damaged values
LOWEST = np.finfo(np.float32).min  # stands for minus infinity, which JSON lacks

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class StoredStack:
    """A stack as JSON values and named arrays."""

    values: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class PositionTable:
    """A table of position vectors, of fixed length."""

    table: np.ndarray

    def __call__(self, count: int) -> np.ndarray:
        if count > len(self.table):
            raise LimitError(
                f"{count:,} positions are needed, and the optimized form has {len(self.table):,}",
                remedy="load the run in float32",
            )
        return self.table[:count]


def store_stack(stack: PackedStack, *, positions: int) -> StoredStack:
    """Serialize a packed stack with vectors for `positions` positions; TypeError for an unsupported
    part.
    """
    arrays: Arrays = {}
    values = _plain(getattr(stack, "arrays", None), "arrays", arrays, positions)
    if values is None:
        raise TypeError(f"a {type(stack).__name__} cannot be stored")
    for name, array in _arrays_of_stack(stack):
        arrays[f"packed.{name}"] = _finite(array)
    return StoredStack(values, arrays)


def restore_stack(form: StoredStack, precision: Precision, *, place: str) -> PackedStack:
    """Restore a stored stack; RunError if its parts are inconsistent."""
    try:
        described = _restore_value(form.values, form.arrays)
        if not isinstance(described, StackArrays | RecurrentArrays):
            raise TypeError("not a stack")
        check_sizes(described)
        stack = PackedStack.of(described, precision)
        for name, array in _arrays_of_stack(stack):
            stored = form.arrays[f"packed.{name}"]
            if stored.shape != array.shape or stored.dtype != array.dtype:
                raise ValueError(f"{name} has another size than its model")
            array[...] = _infinite(stored)
        stack.structure(1)  # fails here if values have wrong types
    except FAULTS as error:
        raise RunError(f"not an optimized form ({error})", place=place, remedy=MAKE_AGAIN) from None
    return stack


def check_sides(encoder: PackedStack, decoder: PackedStack, *, place: str) -> None:
    """Raise RunError unless a restored decoder fits its encoder."""
    try:
        check_pair(encoder, decoder)
    except FAULTS as error:
        raise RunError(f"not an optimized form ({error})", place=place, remedy=MAKE_AGAIN) from None


def byte_count(stack: PackedStack) -> int:
    """The memory of a stack's arrays in bytes."""
    return sum(array.nbytes for _, array in _arrays_of_stack(stack))


def _plain(value: Any, name: str, arrays: Arrays, positions: int) -> Any:
    """Convert a value to JSON; small arrays are put into `arrays` by name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.size > LARGEST_VALUES:
            return {"size": list(value.shape)}
        arrays[name] = _finite(value)
        return {"array": name}
    if is_dataclass(value) and type(value).__name__ in CLASSES:
        parts = {
            each.name: _plain(getattr(value, each.name), f"{name}.{each.name}", arrays, positions)
            for each in fields(value)
        }
        return {"class": type(value).__name__, "fields": parts}
    if isinstance(value, Sequence):
        items = [_plain(v, f"{name}.{i}", arrays, positions) for i, v in enumerate(value)]
        return {"items": items}
    if callable(value) and name.rpartition(".")[2] in TABLES:
        arrays[name] = np.ascontiguousarray(value(positions), dtype=np.float32)
        return {"table": name}
    raise TypeError(f"{name}, a {type(value).__name__}, cannot be stored")


def _restore_value(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    match value:
        case {"size": sizes}:
            return np.broadcast_to(np.float32(0), tuple(sizes))
        case {"array": name}:
            return _infinite(np.array(arrays[name]))
        case {"table": name}:
            return PositionTable(arrays[name])
        case {"items": items}:
            return [_restore_value(each, arrays) for each in items]
        case {"class": name, "fields": parts}:
            return CLASSES[name](
                **{key: _restore_value(each, arrays) for key, each in parts.items()}
            )
    return value


def _arrays_of_stack(value: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of a packed stack, without the unpacked ones."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif is_dataclass(value):
        for each in fields(value):
            if each.name != "arrays" and not each.name.startswith("_"):
                yield from _arrays_of_stack(getattr(value, each.name), f"{name}.{each.name}")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _arrays_of_stack(each, f"{name}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, each in enumerate(value):
            yield from _arrays_of_stack(each, f"{name}.{number}")


def _finite(array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float32:
        return array
    return np.where(np.isneginf(array), LOWEST, array)


def _infinite(array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float32:
        return array
    return np.where(array == LOWEST, np.float32(-np.inf), array)
