"""A Transformer decoder made for use: the numbers of the one it is made of, with less work a step.

Residual sums are part of the products, and the paths of a sentence share one table of keys and
values (`entries`).
"""

from copy import deepcopy
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from seqloom.engine.cache import EngineState, Gaps, Looked, Table
from seqloom.engine.packing import gathered
from seqloom.engine.weights import (
    Affine,
    BlockWeights,
    norm_of,
    padding_of,
    usual,
)
from seqloom.model import Decoder, Features, Memory
from seqloom.model.transformer import TransformerDecoder
from seqloom.nn.embedding import Embedding
from seqloom.nn.modules import each
from seqloom.nn.positions import LearnedAdded, NoPositions, SinusoidsAdded
from seqloom.nn.transformer import Block

__all__ = ["Engine", "fast"]

PLACES = 256  # positions whose vectors are made at first
ROOM = 16  # entries that there are places for at first


def fast(decoder: Decoder[Any]) -> Decoder[Any]:
    """An engine with the decoder's present weights, or the decoder itself where none is made."""
    if isinstance(decoder, TransformerDecoder) and _suits(decoder):
        return Engine(decoder)
    return decoder


def _suits(decoder: TransformerDecoder) -> bool:
    return (
        decoder.source == "cross"
        and isinstance(decoder.embed.embedding, Embedding)
        and isinstance(decoder.embed.positions, SinusoidsAdded | LearnedAdded | NoPositions)
        and all(usual(block.attention) for block in each(decoder.blocks, Block))
    )


class Step(NamedTuple):
    """What one `read` works on; places are those of its sentences and of gaps between them."""

    table: Table
    source: Looked
    mask: Float[Tensor, "PH M C"]  # what each step of each path sees of the table
    places: int
    reads: int  # steps of all paths of a sentence
    gaps: Gaps | None

    @classmethod
    def of(cls, state: EngineState, mask: Float[Tensor, "N C"], heads: int) -> "Step":
        """The step that leads to a state."""
        places, gaps = state.source.places, state.gaps
        count = len(mask) // state.sentences
        mask = mask if gaps is None else mask.index_select(0, gaps.outer)
        mask = mask.view(places, 1, count, -1).expand(-1, heads, -1, -1).flatten(0, 1)
        return cls(state.table, state.source, mask, places, count, gaps)

    def outer(self, values: Float[Tensor, "N D"]) -> Float[Tensor, "M D"]:
        """A row for each path of each place."""
        return values if self.gaps is None else values.index_select(0, self.gaps.outer)

    def inner(self, values: Float[Tensor, "M D"]) -> Float[Tensor, "N D"]:
        """Only the rows that are not in a gap."""
        return values if self.gaps is None else values.index_select(0, self.gaps.inner)


class Layer(BlockWeights):
    """A block that looks back at what was read, and across at the source."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        if block.cross is None:
            raise TypeError("there is no engine for this block")
        self.query = Affine.of(block.cross.query, self.scale)
        self.merge = Affine.of(block.cross.combine)

    def look_back(
        self, hidden: Float[Tensor, "N D"], step: "Step", number: int
    ) -> Float[Tensor, "N D"]:
        """Attention to what was read, after writing what is read now."""
        projected = step.outer(self.project(self.before(hidden, 0)))
        split = projected.view(step.places, step.reads, 3, self.heads, self.size)
        split = split.permute(2, 0, 3, 1, 4)  # (3, P, H, K·T, E)
        step.table.write(number, split[1:])
        queries = split[0].reshape(-1, step.reads, self.size)
        scores = torch.baddbmm(step.mask, queries, step.table.keys[number])
        found = torch.bmm(scores.softmax(dim=-1), step.table.values[number])
        return self.after(self.combine.added(hidden, step.inner(self.joined(found))), 0)

    def look_across(
        self, hidden: Float[Tensor, "N D"], step: "Step", number: int
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "PH M S"]]:
        """Attention to the source, and its weights."""
        source = step.source
        queries = step.outer(self.query(self.before(hidden, 1)))
        split = queries.view(step.places, step.reads, self.heads, self.size).transpose(1, 2)
        queries = split.reshape(-1, step.reads, self.size)
        scores = torch.baddbmm(source.padding, queries, source.keys[number])
        weights = scores.softmax(dim=-1)
        found = torch.bmm(weights, source.values[number])
        return self.after(self.merge.added(hidden, step.inner(self.joined(found))), 1), weights


class Engine:
    """The decoder under the same protocol; its weights are copies and do not follow training."""

    def __init__(self, decoder: TransformerDecoder) -> None:
        embedding, blocks = decoder.embed.embedding, list(each(decoder.blocks, Block))
        if not isinstance(embedding, Embedding):
            raise TypeError("there is no engine for this decoder")
        self._layers = [Layer(block) for block in blocks]
        self._project = Affine.beside(
            [Affine.of(block.cross.project) for block in blocks if block.cross is not None]
        )
        self._vectors = embedding.table.detach() * embedding.factor
        self._place = deepcopy(decoder.embed.positions)
        self._places = self._vectors[:0]
        self._norm = norm_of(decoder.norm)
        matrix, bias = decoder.output.matrix.table.detach().t(), decoder.output.bias
        self._constants = 0 if bias is None else 1  # inputs of 1 by which a bias is in the product
        self._output = torch.cat([matrix] if bias is None else [matrix, bias.detach()[None]])

    def start(self, memory: Memory, *, trace: bool = False) -> EngineState:
        if memory.states is None or memory.mask is None:
            raise TypeError("a Transformer decoder needs the encoder's states")
        count, width = memory.mask.shape
        source = self._look(memory, memory.mask)
        layer = self._layers[0]
        shape = (len(self._layers), 2, count, layer.heads, ROOM, layer.size)
        entries = memory.states.new_zeros(shape)
        return EngineState(
            entries.new_full((count, ROOM), -torch.inf),
            0,
            torch.zeros(count, dtype=torch.int64, device=entries.device),
            0,
            Table(entries, 0),
            source,
            width,
            trace,
        )

    def read(self, inputs: Int[Tensor, "R T"], state: EngineState) -> tuple[Features, EngineState]:
        rows, steps = inputs.shape
        paths = rows // state.sentences
        state = state.with_room(paths * steps, gaps=steps == 1)
        positions = state.positions
        state, mask = state.extended(paths, steps)
        hidden = self._embed(inputs, positions, most=state.furthest)
        state.table.filled = state.known
        step = Step.of(state, mask, self._layers[0].heads)
        weights = mask
        for number, layer in enumerate(self._layers):
            hidden = layer.look_back(hidden, step, number)
            hidden, weights = layer.look_across(hidden, step, number)
            hidden = layer.think(hidden)
        hidden = self._norm(hidden).view(rows, steps, -1)
        if not state.trace:
            return Features(hidden), state
        shown = weights.view(step.places, -1, *weights.shape[1:]).mean(dim=1)  # over heads
        shown = step.inner(shown[:, :, : state.width].flatten(0, 1))
        return Features(hidden, shown.view(rows, steps, -1)), state

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        rows = functional.pad(hidden.flatten(0, -2), (0, self._constants), value=1.0)
        return torch.mm(rows, self._output).view(*hidden.shape[:-1], -1)

    def _look(self, memory: Memory, mask: Bool[Tensor, "B S"]) -> Looked:
        """Keys and values that every layer finds in the encoder's states."""
        heads = self._layers[0].heads
        places, states = gathered(memory, heads)
        found = places.apart(self._project(states), 2 * len(self._layers))
        found = found.unflatten(1, (len(mask), heads))  # (2·L, P, H, C, E)
        padding = padding_of(mask, states.dtype)
        return Looked(
            found[0::2].transpose(3, 4).contiguous(),
            found[1::2].contiguous(),
            padding[:, None, None].expand(-1, heads, -1, -1).contiguous(),
        )

    def _embed(self, inputs: Tensor, positions: Tensor, *, most: int) -> Float[Tensor, "N D"]:
        """Token vectors at their positions, all below `most`, row after row."""
        if most > len(self._places):
            at = torch.arange(max(PLACES, 2 * most), device=inputs.device)[None]
            nothing = self._vectors.new_zeros(1, at.shape[1], self._vectors.shape[1])
            self._places = self._place(nothing, at)[0].detach()
        if inputs.shape[1] > 1:
            counted = torch.arange(inputs.shape[1], device=inputs.device)
            positions = (positions[:, None] + counted).flatten()
        vectors = self._vectors.index_select(0, inputs.flatten())
        return vectors.add_(self._places.index_select(0, positions))
