"""A Transformer encoder made for use: the states of the one it is made of, with less work."""

from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.engine.packing import Gathered, Places
from seqloom.engine.weights import BlockWeights, norm_of, padding_of, usual
from seqloom.model import Encoder, Source
from seqloom.model.transformer import TransformerEncoder
from seqloom.nn.modules import each
from seqloom.nn.transformer import Block

__all__ = ["Reader", "fast_reader"]


def fast_reader(encoder: Encoder) -> Encoder:
    """A reader with the encoder's present weights, or the encoder itself where none is made."""
    if isinstance(encoder, TransformerEncoder) and all(
        usual(block.attention) for block in each(encoder.blocks, Block)
    ):
        return Reader(encoder)
    return encoder


class Layer(BlockWeights):
    """A block in which every position of a sentence looks at all of them."""

    def look_around(
        self, hidden: Float[Tensor, "N D"], places: Places, padding: Float[Tensor, "BH 1 C"]
    ) -> Float[Tensor, "N D"]:
        """Attention to the real positions."""
        projected = self.project(self.before(hidden, 0))
        queries, keys, values = places.apart(projected, 3).unbind()
        scores = torch.baddbmm(padding, queries, keys.transpose(1, 2))
        found = torch.bmm(scores.softmax(dim=-1), values)
        return self.after(self.combine.added(hidden, places.together(found)), 0)


class Reader:
    """The encoder under the same protocol; its weights are copies and do not follow training."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._embed = deepcopy(encoder.embed).eval()
        self._layers = [Layer(block) for block in each(encoder.blocks, Block)]
        self._norm = norm_of(encoder.norm)

    def encode(self, source: Source) -> Gathered:
        mask, (rows, steps), heads = source.mask, source.values.shape[:2], self._layers[0].heads
        places = Places(mask, heads)
        vectors = self._embed(source.values, torch.arange(steps, device=mask.device)[None])
        hidden = places.chosen(vectors)
        padding = padding_of(mask, hidden.dtype).repeat_interleave(heads, dim=0)[:, None]
        for layer in self._layers:
            hidden = layer.think(layer.look_around(hidden, places, padding))
        states = self._norm(hidden)
        last = states[source.lengths.cumsum(0) - 1]
        return Gathered(
            rows,
            places.filled(states, mask),
            mask,
            code=(last[:, None],),
            places=places,
            real=states,
        )
