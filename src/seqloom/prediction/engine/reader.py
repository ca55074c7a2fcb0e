"""A Transformer encoder made for use: the states of the one it is made of, with less work."""

from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seqloom.model import Encoder, Memory, Source
from seqloom.model.transformer import TransformerEncoder
from seqloom.nn.modules import each
from seqloom.nn.transformer import Block
from seqloom.prediction.engine.weights import BlockWeights, norm_of, padding_of, usual

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
        self, hidden: Float[Tensor, "N D"], padding: Float[Tensor, "BH 1 C"]
    ) -> Float[Tensor, "N D"]:
        """Attention to the real positions; keys and values are padded to whole lanes."""
        sentences, room = len(padding) // self.heads, padding.shape[2]
        projected = self.project(self.before(hidden, 0))
        split = projected.view(sentences, -1, 3, self.heads, self.size)
        split = split.permute(2, 0, 3, 1, 4)  # (3, B, H, S, E)
        steps = split.shape[3]
        padded = functional.pad(split[1:], (0, 0, 0, room - steps)).flatten(1, 2)
        queries = split[0].reshape(-1, steps, self.size)
        scores = torch.baddbmm(padding, queries, padded[0].transpose(1, 2))
        found = torch.bmm(scores.softmax(dim=-1), padded[1])
        return self.after(self.combine.added(hidden, self.joined(found)), 0)


class Reader:
    """The encoder under the same protocol; its weights are copies and do not follow training."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._embed = deepcopy(encoder.embed).eval()
        self._layers = [Layer(block) for block in each(encoder.blocks, Block)]
        self._norm = norm_of(encoder.norm)

    def encode(self, source: Source) -> Memory:
        mask, (rows, steps) = source.mask, source.values.shape[:2]
        hidden = self._embed(source.values, torch.arange(steps, device=mask.device)[None])
        hidden = hidden.flatten(0, 1)
        padding = padding_of(mask, hidden.dtype)
        padding = padding.repeat_interleave(self._layers[0].heads, dim=0)[:, None]  # (B·H, 1, C)
        for layer in self._layers:
            hidden = layer.think(layer.look_around(hidden, padding))
        states = self._norm(hidden).unflatten(0, (rows, steps))
        last = states[torch.arange(rows, device=mask.device), source.lengths - 1]
        return Memory(rows, states, mask, code=(last[:, None],))
