"""A Transformer encoder made for use: the states of the one it is made of, with less work."""

from copy import deepcopy
from functools import singledispatch
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.model import Source
from seqloom.model.transformer import TransformerEncoder
from seqloom.nn.modules import children_of
from seqloom.nn.transformer import Block
from seqloom.torch_engine.packing import PackedMemory, Packing
from seqloom.torch_engine.weights import (
    BlockWeights,
    is_supported,
    norm_function,
    padding_bias,
)

__all__ = ["EncoderEngine", "fast_encoder"]


@singledispatch
def fast_encoder(encoder: Any) -> Any:
    """A reader with the encoder's present weights, or the encoder itself where none is made."""
    return encoder


@fast_encoder.register
def _(encoder: TransformerEncoder) -> Any:
    blocks = children_of(encoder.blocks, Block)
    fits = all(is_supported(block.attention) for block in blocks)
    return EncoderEngine(encoder) if fits else encoder


class EncoderEngineLayer(BlockWeights):
    """A block in which every position of a sentence looks at all of them."""

    def self_attention(
        self, hidden: Float[Tensor, "N D"], places: Packing, padding: Float[Tensor, "BH 1 C"]
    ) -> Float[Tensor, "N D"]:
        """Attention to the real positions."""
        projected = self.project(self.pre_norm(hidden, 0))
        queries, keys, values = places.split_heads(projected, 3).unbind()
        scores = torch.baddbmm(padding, queries, keys.transpose(1, 2))
        found = torch.bmm(scores.softmax(dim=-1), values)
        return self.post_norm(self.combine.add_to(hidden, places.merge_heads(found)), 0)


class EncoderEngine:
    """The encoder under the same protocol; its weights are copies and do not follow training."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._embed = deepcopy(encoder.embed).eval()
        self._layers = [EncoderEngineLayer(block) for block in children_of(encoder.blocks, Block)]
        self._norm = norm_function(encoder.norm)

    def encode(self, source: Source) -> PackedMemory:
        mask, (rows, steps), heads = source.mask, source.values.shape[:2], self._layers[0].heads
        places = Packing(mask, heads)
        vectors = self._embed(source.values, torch.arange(steps, device=mask.device)[None])
        hidden = places.pack(vectors)
        padding = padding_bias(mask, hidden.dtype).repeat_interleave(heads, dim=0)[:, None]
        for layer in self._layers:
            hidden = layer.feed_forward(layer.self_attention(hidden, places, padding))
        states = self._norm(hidden)
        last = states[source.lengths.cumsum(0) - 1]
        return PackedMemory(
            rows,
            places.unpack(states, mask),
            mask,
            code=(last[:, None],),
            packing=places,
            real_states=states,
        )
