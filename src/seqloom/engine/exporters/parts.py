"""Helpers of all exporters: arrays of tensors, and token vectors."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.engine.matrices import Norm
from seqloom.engine.packed import AffineArrays, NoSourceArrays, ReadingTurn, SideArrays
from seqloom.errors import DivergedError
from seqloom.model.encoders import NoEncoder, ReversedEncoder
from seqloom.model.front_ends import FrontEndEncoder
from seqloom.nn.embedding import Embedding, OneHot, OutputLayer, WordDropout

__all__ = [
    "TorchVectors",
    "UnfitError",
    "affine",
    "array",
    "decoder_form",
    "decoder_table",
    "encoder_form",
    "norm_form",
    "output_arrays",
    "token_table",
]

MOST_KNOWN = 50_000  # cached vectors of words
LARGEST_ONE_HOT = 2_048  # largest vocabulary whose one-hot vectors are stored as a table


class UnfitError(Exception):
    """A part that the engine does not support; its text names the part."""


def array(tensor: Tensor) -> np.ndarray:
    """A tensor's values as float32; DivergedError if some are not finite."""
    values: np.ndarray = tensor.detach().cpu().float().numpy()
    if not np.isfinite(values).all():
        raise DivergedError("the model's weights are not all numbers", remedy="train it again")
    return values


def affine(linear: nn.Linear) -> AffineArrays:
    """The arrays of a linear layer."""
    return AffineArrays(array(linear.weight), None if linear.bias is None else array(linear.bias))


def output_arrays(layer: OutputLayer) -> AffineArrays:
    """The arrays of an output layer, tied or not."""
    return AffineArrays(
        array(layer.matrix.table), None if layer.bias is None else array(layer.bias)
    )


@singledispatch
def encoder_form(encoder: Any) -> SideArrays:
    """The arrays of an encoder; UnfitError if the engine does not support it."""
    raise UnfitError(f"an encoder of kind {type(encoder).__name__}")


@singledispatch
def decoder_form(decoder: Any) -> SideArrays:
    """The arrays of a decoder; UnfitError if the engine does not support it."""
    raise UnfitError(f"a decoder of kind {type(decoder).__name__}")


@encoder_form.register
def _(encoder: NoEncoder) -> SideArrays:
    return NoSourceArrays()


@encoder_form.register
def _(encoder: FrontEndEncoder) -> SideArrays:
    return encoder_form(encoder.inner).with_front(encoder.front)


@encoder_form.register
def _(encoder: ReversedEncoder) -> SideArrays:
    return encoder_form(encoder.inner).with_turn(ReadingTurn(encoder.closing, encoder.turned))


@singledispatch
def norm_form(module: Any) -> Norm | None:
    """The arrays of a norm; None for an identity."""
    raise UnfitError(f"a norm of kind {type(module).__name__}")


@norm_form.register
def _(module: nn.LayerNorm) -> Norm | None:
    return Norm.of(array(module.weight), array(module.bias), module.eps)


@norm_form.register
def _(module: nn.Identity) -> Norm | None:
    return None


@singledispatch
def token_table(vectors: Any) -> Tensor | None:
    """The vector of every token (V, E); None if vectors are not from a table."""
    return None


@token_table.register
def _(vectors: Embedding) -> Tensor | None:
    return vectors.table.detach() * vectors.factor


@token_table.register
def _(vectors: WordDropout) -> Tensor | None:
    return token_table(vectors.vectors)


@token_table.register
def _(vectors: OneHot) -> Tensor | None:
    return torch.eye(vectors.width) if vectors.width <= LARGEST_ONE_HOT else None


def decoder_table(vectors: Any) -> Tensor:
    """The token table of a decoder."""
    table = token_table(vectors)
    if table is None:
        raise UnfitError(f"token vectors of kind {type(vectors).__name__}")
    return table


@dataclass(frozen=True)
class TorchVectors:
    """Vectors of items, computed by a torch module and an optional linear layer.

    Vectors of words that are read by their letters are cached, since most words of a text are
    frequent.
    """

    module: Any
    after: nn.Linear | None = None
    known: dict[bytes, np.ndarray] = field(default_factory=dict, compare=False)

    def vectors(self, items: np.ndarray) -> np.ndarray:
        """The vectors (N, D) of items (N, ...)."""
        if items.ndim != 2 or not np.issubdtype(items.dtype, np.integer):
            return self._compute(items)
        rows = np.ascontiguousarray(items)
        whole = np.dtype((np.void, rows.itemsize * rows.shape[1]))
        names: Any = rows.view(whole).ravel().tolist()
        found = {name: self.known[name] for name in set(names) if name in self.known}
        new = {name: place for place, name in enumerate(names) if name not in found}
        if new:
            made = dict(zip(new, self._compute(rows[list(new.values())]), strict=True))
            found |= made
            if len(self.known) + len(made) <= MOST_KNOWN:
                self.known.update(made)
        return np.concatenate([found[name] for name in names]).reshape(len(names), -1)

    @torch.no_grad()
    def _compute(self, items: np.ndarray) -> np.ndarray:
        values = torch.from_numpy(np.ascontiguousarray(items))
        parameter = next(self.module.parameters(), values)
        values = values.to(parameter.dtype) if values.is_floating_point() else values.long()
        found = self.module(values)
        return array(found if self.after is None else self.after(found))
