"""What all exporters share: arrays of tensors, and the vectors of tokens."""

from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.engine.matrices import Norm
from seqloom.engine.packed import AffineArrays, ReadingTurn, SideArrays
from seqloom.errors import DivergedError
from seqloom.model.encoders import NoEncoder, ReversedEncoder
from seqloom.nn.embedding import Embedding, OneHot, OutputLayer, WordDropout

__all__ = [
    "UnfitError",
    "affine",
    "array",
    "decoder_form",
    "encoder_form",
    "norm_form",
    "output_arrays",
    "token_table",
]

LARGEST_ONE_HOT = 2_048  # symbols whose one-hot vectors are worth a table


class UnfitError(Exception):
    """A part that the engine has no form for; its text names the part."""


def array(tensor: Tensor) -> np.ndarray:
    """A tensor's values as float32; DivergedError where they are not all numbers."""
    values: np.ndarray = tensor.detach().cpu().float().numpy()
    if not np.isfinite(values).all():
        raise DivergedError("the model's weights are not all numbers; train it again")
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
    """The arrays of an encoder; UnfitError where the engine has no form for it."""
    raise UnfitError(f"an encoder of kind {type(encoder).__name__}")


@singledispatch
def decoder_form(decoder: Any) -> SideArrays:
    """The arrays of a decoder; UnfitError where the engine has no form for it."""
    raise UnfitError(f"a decoder of kind {type(decoder).__name__}")


@encoder_form.register
def _(encoder: NoEncoder) -> SideArrays:
    raise UnfitError("an encoder, since there is no source")


@encoder_form.register
def _(encoder: ReversedEncoder) -> SideArrays:
    return encoder_form(encoder.inner).with_turn(ReadingTurn(encoder.closing, encoder.turned))


@singledispatch
def norm_form(module: Any) -> Norm | None:
    """A norm, or nothing in its place."""
    raise UnfitError(f"a norm of kind {type(module).__name__}")


@norm_form.register
def _(module: nn.LayerNorm) -> Norm | None:
    return Norm.of(array(module.weight), array(module.bias), module.eps)


@norm_form.register
def _(module: nn.Identity) -> Norm | None:
    return None


@singledispatch
def token_table(vectors: Any) -> Tensor:
    """The vector of every token (V, E)."""
    raise UnfitError(f"token vectors of kind {type(vectors).__name__}")


@token_table.register
def _(vectors: Embedding) -> Tensor:
    return vectors.table.detach() * vectors.factor


@token_table.register
def _(vectors: WordDropout) -> Tensor:
    return token_table(vectors.vectors)


@token_table.register
def _(vectors: OneHot) -> Tensor:
    if vectors.width > LARGEST_ONE_HOT:
        raise UnfitError(f"one-hot vectors of {vectors.width:,} symbols")
    return torch.eye(vectors.width)
