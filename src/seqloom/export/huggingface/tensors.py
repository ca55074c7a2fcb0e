"""The correspondence between our parameters and the tensors of a Marian-type checkpoint."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from seqloom.config import ModelConfig, TransformerDecoderConfig, TransformerEncoderConfig

__all__ = ["TensorPair", "from_transformers", "tensor_pairs", "to_transformers"]

Side = Literal["encoder", "decoder"]
KINDS = "weight", "bias"


class TensorPair(NamedTuple):
    """A parameter of ours, and the tensors of theirs that it stacks."""

    ours: str
    theirs: tuple[str, ...]


def tensor_pairs(model: ModelConfig) -> list[TensorPair]:
    """All pairs except embeddings and output layer, in the order of our parameters."""
    pairs: list[TensorPair] = []
    for side, options in (("encoder", model.encoder), ("decoder", model.decoder)):
        if not isinstance(options, TransformerEncoderConfig | TransformerDecoderConfig):
            raise TypeError(f"{side} of kind {options.kind}")
        for layer in range(options.layers):
            pairs += _block(side, layer)
        if options.norm == "first":
            pairs += _name_pairs(f"{side}.norm", f"model.{side}.layer_norm")
    return pairs


def from_transformers(
    pairs: list[TensorPair], tensors: Mapping[str, Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """Convert to our parameters; KeyError names a missing tensor."""
    for ours, theirs in pairs:
        yield ours, torch.cat([tensors[name].float() for name in theirs])


def to_transformers(
    pairs: list[TensorPair], weights: Mapping[str, Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """Convert to their tensors; a bias that we lack is zero."""
    for ours, theirs in pairs:
        whole = weights.get(ours)
        if whole is None:
            weight = weights[ours.removesuffix("bias") + "weight"]
            whole = weight.new_zeros(len(weight))
        for name, part in zip(theirs, whole.chunk(len(theirs)), strict=True):
            yield name, part.detach().float().contiguous()


def _block(side: str, layer: int) -> list[TensorPair]:
    ours, theirs = f"{side}.blocks.{layer}", f"model.{side}.layers.{layer}"
    parts = {
        "attention.project": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        "attention.combine": ("self_attn.out_proj",),
        "network.0": ("fc1",),
        "network.3": ("fc2",),
        "norms.0": ("self_attn_layer_norm",),
    }
    if side == "encoder":
        parts["norms.1"] = ("final_layer_norm",)
    else:
        parts |= {
            "cross.query": ("encoder_attn.q_proj",),
            "cross.project": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
            "cross.combine": ("encoder_attn.out_proj",),
            "norms.1": ("encoder_attn_layer_norm",),
            "norms.2": ("final_layer_norm",),
        }
    return [
        pair
        for own, names in parts.items()
        for pair in _name_pairs(f"{ours}.{own}", *(f"{theirs}.{name}" for name in names))
    ]


def _name_pairs(ours: str, *theirs: str) -> list[TensorPair]:
    return [
        TensorPair(f"{ours}.{kind}", tuple(f"{name}.{kind}" for name in theirs)) for kind in KINDS
    ]
