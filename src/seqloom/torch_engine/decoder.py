"""A Transformer decoder made for use: the numbers of the one it is made of, with less work a step.

Residual sums are part of the products, and the paths of a sentence share one table of keys and
values (`entries`).
"""

from copy import deepcopy
from functools import singledispatch
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.model import Features, Memory
from seqloom.model.transformer import TransformerDecoder
from seqloom.nn.embedding import Embedding
from seqloom.nn.modules import children_of
from seqloom.nn.positions import AddedSinusoids, LearnedPositions, NoPositions
from seqloom.nn.transformer import Block
from seqloom.torch_engine.cache import EngineState, KeyValueCache, SlotLayout, SourceKeyValues
from seqloom.torch_engine.packing import pack_memory
from seqloom.torch_engine.weights import (
    Affine,
    BlockWeights,
    is_supported,
    norm_function,
    padding_bias,
)

__all__ = ["DecoderEngine", "fast_decoder"]

INITIAL_POSITIONS = 256  # positions whose vectors are made at first
INITIAL_ENTRIES = 16  # entries that there are places for at first


@singledispatch
def fast_decoder(decoder: Any) -> Any:
    """An engine with the decoder's present weights, or the decoder itself where none is made."""
    return decoder


@fast_decoder.register
def _(decoder: TransformerDecoder) -> Any:
    return DecoderEngine(decoder) if _is_supported(decoder) else decoder


def _is_supported(decoder: TransformerDecoder) -> bool:
    return (
        decoder.source == "cross"
        and decoder.readout.is_affine
        and isinstance(decoder.embed.embedding, Embedding)
        and isinstance(decoder.embed.positions, AddedSinusoids | LearnedPositions | NoPositions)
        and all(is_supported(block.attention) for block in children_of(decoder.blocks, Block))
    )


class EngineStep(NamedTuple):
    """What one `read` works on; places are those of its sentences and of gaps between them."""

    cache: KeyValueCache
    source: SourceKeyValues
    mask: Float[Tensor, "PH M C"]  # what each step of each path sees of the table
    places: int
    reads: int  # steps of all paths of a sentence
    layout: SlotLayout | None

    @classmethod
    def of(cls, state: EngineState, mask: Float[Tensor, "N C"], heads: int) -> "EngineStep":
        """The step that leads to a state."""
        places, gaps = state.source.places, state.layout
        count = len(mask) // state.sentences
        mask = mask if gaps is None else mask.index_select(0, gaps.slot_rows)
        mask = mask.view(places, 1, count, -1).expand(-1, heads, -1, -1).flatten(0, 1)
        return cls(state.cache, state.source, mask, places, count, gaps)

    def to_slots(self, values: Float[Tensor, "N D"]) -> Float[Tensor, "M D"]:
        """A row for each path of each place."""
        return values if self.layout is None else values.index_select(0, self.layout.slot_rows)

    def from_slots(self, values: Float[Tensor, "M D"]) -> Float[Tensor, "N D"]:
        """Only the rows that are not in a gap."""
        return values if self.layout is None else values.index_select(0, self.layout.row_slots)


class DecoderEngineLayer(BlockWeights):
    """A block that looks back at what was read, and across at the source."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        if block.cross is None:
            raise TypeError("there is no engine for this block")
        self.query = Affine.of(block.cross.query, self.scale)
        self.merge = Affine.of(block.cross.combine)

    def self_attention(
        self, hidden: Float[Tensor, "N D"], step: "EngineStep", number: int
    ) -> Float[Tensor, "N D"]:
        """Attention to what was read, after writing what is read now."""
        projected = step.to_slots(self.project(self.pre_norm(hidden, 0)))
        split = projected.view(step.places, step.reads, 3, self.heads, self.size)
        split = split.permute(2, 0, 3, 1, 4)  # (3, P, H, K·T, E)
        step.cache.write(number, split[1:])
        queries = split[0].reshape(-1, step.reads, self.size)
        scores = torch.baddbmm(step.mask, queries, step.cache.keys[number])
        found = torch.bmm(scores.softmax(dim=-1), step.cache.values[number])
        return self.post_norm(
            self.combine.add_to(hidden, step.from_slots(self.merge_heads(found))), 0
        )

    def cross_attention(
        self, hidden: Float[Tensor, "N D"], step: "EngineStep", number: int
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "PH M S"]]:
        """Attention to the source, and its weights."""
        source = step.source
        queries = step.to_slots(self.query(self.pre_norm(hidden, 1)))
        split = queries.view(step.places, step.reads, self.heads, self.size).transpose(1, 2)
        queries = split.reshape(-1, step.reads, self.size)
        scores = torch.baddbmm(source.padding, queries, source.keys[number])
        weights = scores.softmax(dim=-1)
        found = torch.bmm(weights, source.values[number])
        return self.post_norm(
            self.merge.add_to(hidden, step.from_slots(self.merge_heads(found))), 1
        ), weights


class DecoderEngine:
    """The decoder under the same protocol; its weights are copies and do not follow training."""

    def __init__(self, decoder: TransformerDecoder) -> None:
        embedding, blocks = decoder.embed.embedding, list(children_of(decoder.blocks, Block))
        if not isinstance(embedding, Embedding):
            raise TypeError("there is no engine for this decoder")
        self._layers = [DecoderEngineLayer(block) for block in blocks]
        self._project = Affine.concatenate(
            [Affine.of(block.cross.project) for block in blocks if block.cross is not None]
        )
        self._vectors = embedding.table.detach() * embedding.factor
        self._place = deepcopy(decoder.embed.positions)
        self._places = self._vectors[:0]
        self._norm = norm_function(decoder.norm)
        matrix, bias = decoder.output.matrix.table.detach().t(), decoder.output.bias
        self._constants = 0 if bias is None else 1  # inputs of 1 by which a bias is in the product
        self._output = torch.cat([matrix] if bias is None else [matrix, bias.detach()[None]])

    def start(self, memory: Memory, *, trace: bool = False) -> EngineState:
        if memory.states is None or memory.mask is None:
            raise TypeError("a Transformer decoder needs the encoder's states")
        count, width = memory.mask.shape
        source = self._project_source(memory, memory.mask)
        layer = self._layers[0]
        shape = (len(self._layers), 2, count, layer.heads, INITIAL_ENTRIES, layer.size)
        entries = memory.states.new_zeros(shape)
        return EngineState(
            entries.new_full((count, INITIAL_ENTRIES), -torch.inf),
            0,
            torch.zeros(count, dtype=torch.int64, device=entries.device),
            0,
            KeyValueCache(entries, 0),
            source,
            width,
            trace,
        )

    def read(self, inputs: Int[Tensor, "R T"], state: EngineState) -> tuple[Features, EngineState]:
        rows, steps = inputs.shape
        paths = rows // state.sentences
        state = state.reserve(paths * steps, gaps=steps == 1)
        positions = state.positions
        state, mask = state.extend(paths, steps)
        hidden = self._embed(inputs, positions, most=state.max_position)
        state.cache.filled = state.entry_count
        step = EngineStep.of(state, mask, self._layers[0].heads)
        weights = mask
        for number, layer in enumerate(self._layers):
            hidden = layer.self_attention(hidden, step, number)
            hidden, weights = layer.cross_attention(hidden, step, number)
            hidden = layer.feed_forward(hidden)
        hidden = self._norm(hidden).view(rows, steps, -1)
        if not state.trace:
            return Features(hidden), state
        shown = weights.view(step.places, -1, *weights.shape[1:]).mean(dim=1)  # over heads
        shown = step.from_slots(shown[:, :, : state.width].flatten(0, 1))
        return Features(hidden, shown.view(rows, steps, -1)), state

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        rows = functional.pad(hidden.flatten(0, -2), (0, self._constants), value=1.0)
        return torch.mm(rows, self._output).view(*hidden.shape[:-1], -1)

    def _project_source(self, memory: Memory, mask: Bool[Tensor, "B S"]) -> SourceKeyValues:
        """Keys and values that every layer finds in the encoder's states."""
        heads = self._layers[0].heads
        places, states = pack_memory(memory, heads)
        found = places.split_heads(self._project(states), 2 * len(self._layers))
        found = found.unflatten(1, (len(mask), heads))  # (2·L, P, H, C, E)
        padding = padding_bias(mask, states.dtype)
        return SourceKeyValues(
            found[0::2].transpose(3, 4).contiguous(),
            found[1::2].contiguous(),
            padding[:, None, None].expand(-1, heads, -1, -1).contiguous(),
        )

    def _embed(self, inputs: Tensor, positions: Tensor, *, most: int) -> Float[Tensor, "N D"]:
        """Token vectors at their positions, all below `most`, row after row."""
        if most > len(self._places):
            at = torch.arange(max(INITIAL_POSITIONS, 2 * most), device=inputs.device)[None]
            nothing = self._vectors.new_zeros(1, at.shape[1], self._vectors.shape[1])
            self._places = self._place(nothing, at)[0].detach()
        if inputs.shape[1] > 1:
            counted = torch.arange(inputs.shape[1], device=inputs.device)
            positions = (positions[:, None] + counted).flatten()
        vectors = self._vectors.index_select(0, inputs.flatten())
        return vectors.add_(self._places.index_select(0, positions))
