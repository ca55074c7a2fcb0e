"""Linear maps and norms in the layout of the core's kernels."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from seqloom.engine.library import MatrixStructure, NormStructure, address, core

__all__ = ["BLOCK", "LANES", "Matrix", "Norm", "Precision", "pad_to", "round_up"]

BLOCK = 64  # columns of a packed matrix, and padding unit of rows
LANES = 16  # padding unit of widths and heads

Precision = Literal["float32", "int8", "bfloat16"]
KINDS: dict[Precision, int] = {"float32": 0, "int8": 1, "bfloat16": 2}


def round_up(count: int, whole: int = LANES) -> int:
    """Round up to a multiple of `whole`."""
    return -(-count // whole) * whole


def pad_to(array: np.ndarray, *sizes: int) -> np.ndarray:
    """Convert an array to float32, zero-padded to these sizes."""
    padded = np.zeros(sizes, dtype=np.float32)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


@dataclass(frozen=True)
class Matrix:
    """A packed linear map from `inputs` to `outputs` values."""

    precision: Precision
    inputs: int
    outputs: int
    weights: np.ndarray
    bias: np.ndarray
    scales: np.ndarray | None = None
    offsets: np.ndarray | None = None
    rows: np.ndarray | None = None  # the unpacked rows, if shortlists are cut from it

    @classmethod
    def pack(
        cls,
        weights: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        precision: Precision = "float32",
        missing: float = 0.0,
        keep_rows: bool = False,
    ) -> "Matrix":
        """Pack weights (outputs, inputs); the number of inputs is a multiple of 16.

        `missing` is the bias of padding columns in the last block.
        """
        outputs, inputs = weights.shape
        if inputs % LANES:
            raise ValueError(f"{inputs} inputs are not a multiple of {LANES}")
        room = round_up(outputs, BLOCK)
        whole = np.full(room, missing, dtype=np.float32)
        whole[:outputs] = 0.0 if bias is None else bias
        plain = np.ascontiguousarray(weights, dtype=np.float32)
        if precision == "float32":
            packed = np.empty((room, inputs), dtype=np.float32)
            core().sl_pack_float32(address(plain), outputs, inputs, address(packed))
            rows = plain if keep_rows else None
            return cls(precision, inputs, outputs, packed, whole, rows=rows)
        if precision == "bfloat16":
            halves = np.empty((outputs, inputs), dtype=np.uint16)
            packed = np.empty((room, inputs), dtype=np.uint16)
            core().sl_halve(address(plain), outputs, inputs, address(halves))
            core().sl_pack_bytes(address(halves), None, outputs, 2 * inputs, address(packed))
            cut = halves if keep_rows else None
            return cls(precision, inputs, outputs, packed, whole, rows=cut)
        scales, offsets = np.zeros(room, dtype=np.float32), np.zeros(room, dtype=np.int32)
        bytes_ = np.empty((outputs, inputs), dtype=np.int8)
        packed = np.empty((room, inputs), dtype=np.int8)
        core().sl_quantise_columns(
            address(plain), outputs, inputs, address(bytes_), address(scales), address(offsets)
        )
        core().sl_pack_bytes(address(bytes_), None, outputs, inputs, address(packed))
        kept = bytes_ if keep_rows else None
        return cls(precision, inputs, outputs, packed, whole, scales, offsets, kept)

    def take(self, columns: np.ndarray) -> "Matrix":
        """The map to these outputs alone, with identical bits; requires `keep_rows`."""
        if self.rows is None:
            raise TypeError("no columns can be taken from this matrix")
        count, room = len(columns), round_up(len(columns), BLOCK)
        packed = np.empty((room, self.inputs), dtype=self.weights.dtype)
        rows = np.ascontiguousarray(self.rows[columns])
        if self.precision == "float32":
            core().sl_pack_float32(address(rows), count, self.inputs, address(packed))
        else:
            size = self.inputs * rows.itemsize
            core().sl_pack_bytes(address(rows), None, count, size, address(packed))
        bias = np.full(room, -np.inf, dtype=np.float32)
        bias[:count] = self.bias[columns]
        scales, offsets = (
            None if part is None else np.append(part[columns], np.zeros(room - count, part.dtype))
            for part in (self.scales, self.offsets)
        )
        return Matrix(self.precision, self.inputs, count, packed, bias, scales, offsets)

    def structure(self) -> MatrixStructure:
        """The core's structure, valid as long as this object."""
        return MatrixStructure(
            KINDS[self.precision],
            self.inputs,
            self.outputs,
            0,
            address(self.weights),
            address(self.scales),
            address(self.offsets),
            address(self.bias),
        )


@dataclass(frozen=True)
class Norm:
    """A layer norm of `width` values, padded to whole blocks."""

    gain: np.ndarray
    bias: np.ndarray
    epsilon: float
    width: int

    @classmethod
    def of(cls, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> "Norm":
        room = round_up(len(gain), BLOCK)
        return cls(pad_to(gain, room), pad_to(bias, room), epsilon, len(gain))

    def structure(self) -> NormStructure:
        """The core's structure, valid as long as this object."""
        return NormStructure(address(self.gain), address(self.bias), self.epsilon, self.width)
