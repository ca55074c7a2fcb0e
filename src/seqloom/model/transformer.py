"""Transformer encoder and decoder under the protocol of `model.state` (SPEC S5)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.model.state import Features, Memory, Source, State
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import Embedding, OutputLayer
from seqloom.nn.modules import each
from seqloom.nn.positions import sinusoids
from seqloom.nn.transformer import Block, Cache, Keys

__all__ = ["TransformerDecoder", "TransformerEncoder", "TransformerState"]


class PositionedEmbedding(nn.Module):
    """Token vectors plus sines and cosines of the position, from 1 (SPEC S5.3)."""

    def __init__(self, embedding: Embedding, *, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(dropout)
        self.known: Tensor | None = None  # vectors of the first positions, once they are needed

    def forward(
        self, tokens: Int[Tensor, "R T"], positions: Int[Tensor, "R"] | None = None
    ) -> Float[Tensor, "R T D"]:
        """`positions` is how much each row has read before; nothing, if not given."""
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        at = steps if positions is None else positions[:, None] + steps
        vectors = self.embedding(tokens)
        return self.dropout(vectors + self._positions(int(at.max()) + 1, vectors)[at])

    def _positions(self, count: int, like: Tensor) -> Tensor:
        known = self.known
        if known is None or len(known) < count or known.dtype != like.dtype:
            steps = torch.arange(1, max(512, 2 * count) + 1, device=like.device)
            self.known = known = sinusoids(steps, like.shape[-1]).to(like)
        return known


class TransformerEncoder(nn.Module):
    """Blocks in which every source position looks at every other."""

    def __init__(
        self, embedding: Embedding, blocks: list[Block], *, norm: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.embed = PositionedEmbedding(embedding, dropout=dropout)
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm

    def encode(self, source: Source) -> Memory:
        mask = source.mask
        padded = None if bool(mask.all()) else mask[:, None, None]
        hidden = self.embed(source.tokens)
        for block in each(self.blocks, Block):
            hidden = block.encode(hidden, padded)
        return Memory(len(source.lengths), self.norm(hidden), mask)


class Read(NamedTuple):
    """What a path has read: keys and values of every block, and how many tokens."""

    caches: tuple[Cache, ...]
    positions: Int[Tensor, "R"]


class Attended(NamedTuple):
    """What a sentence's paths look at, in every block."""

    keys: tuple[Keys, ...]
    mask: Bool[Tensor, "B S"]


TransformerState = State[Read, Attended]


class TransformerDecoder(nn.Module):
    """Causal blocks that look at the source; what was computed once is kept (SPEC S5.7)."""

    def __init__(
        self,
        embedding: Embedding,
        blocks: list[Block],
        output: OutputLayer,
        *,
        norm: nn.Module,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embed = PositionedEmbedding(embedding, dropout=dropout)
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.output = output

    def start(self, memory: Memory, *, trace: bool = False) -> TransformerState:
        if memory.states is None or memory.mask is None:
            raise TypeError("a Transformer decoder needs the encoder's states")
        keys = tuple(block.prepare(memory.states) for block in each(self.blocks, Block))
        nothing = [part.new_empty(len(part), 0, part.shape[1], part.shape[3]) for part in keys[0]]
        caches = tuple(Cache(*nothing) for _ in self.blocks)
        positions = torch.zeros(memory.sentences, dtype=torch.int64, device=memory.mask.device)
        return State(Read(caches, positions), Attended(keys, memory.mask), trace)

    def read(
        self, inputs: Int[Tensor, "R T"], state: TransformerState
    ) -> tuple[Features, TransformerState]:
        positions, mask = state.own.positions, state.shared.mask
        hidden = self.embed(inputs, positions)
        caches, weights = [], None
        blocks = each(self.blocks, Block)
        for block, cache, keys in zip(blocks, state.own.caches, state.shared.keys, strict=True):
            hidden, grown, weights = block.decode(
                hidden, cache, positions, (keys, mask), trace=state.trace
            )
            caches.append(grown)
        attention = None if weights is None else weights.mean(dim=1)  # the last block's heads
        after = State(Read(tuple(caches), positions + inputs.shape[1]), state.shared, state.trace)
        return Features(self.norm(hidden), attention), after

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)
