"""Transformer encoder and decoder under the protocol of `model.state` (S5)."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.model.state import Features, Memory, Source, State
from seqloom.nn.dropout import Dropout
from seqloom.nn.embedding import OutputLayer, Vectors
from seqloom.nn.modules import children_of
from seqloom.nn.positions import Positions
from seqloom.nn.token_mixing import Cache, NextSteps, next_steps
from seqloom.nn.transformer import Block, Keys

__all__ = ["PositionalEmbedding", "TransformerDecoder", "TransformerEncoder", "TransformerState"]


class PositionalEmbedding(nn.Module):
    """Token vectors that know their position (S5.3)."""

    def __init__(self, embedding: Vectors, positions: Positions, *, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(
        self, items: Int[Tensor, "R T"] | Float[Tensor, "R T C"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        """`at` counts what comes before each item."""
        return self.add_positions(self.embedding(items), at)

    def add_positions(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        """The same for vectors that are there already."""
        return self.dropout(self.positions(vectors, at))


class TransformerEncoder(nn.Module):
    """Blocks in which every source position looks at every other; the code is the last state."""

    def __init__(self, embed: PositionalEmbedding, blocks: list[Block], *, norm: nn.Module) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm

    def encode(self, source: Source) -> Memory:
        mask, (rows, steps) = source.mask, source.values.shape[:2]
        padded = None if bool(mask.all()) else mask[:, None, None]
        hidden = self.embed(source.values, torch.arange(steps, device=mask.device)[None])
        for block in children_of(self.blocks, Block):
            hidden = block.encode(hidden, padded)
        states = self.norm(hidden)
        last = states[torch.arange(rows, device=mask.device), source.lengths - 1]
        return Memory(rows, states, mask, code=(last[:, None],))


class DecoderCache(NamedTuple):
    """What a path has read: what every block keeps of it, and how many tokens."""

    caches: tuple[Cache, ...]
    positions: Int[Tensor, "R"]


class SourceKeys(NamedTuple):
    """What a sentence's paths look at, in every block."""

    keys: tuple[Keys, ...]
    mask: Bool[Tensor, "B S"]


TransformerState = State[DecoderCache, SourceKeys | tuple[()]]


class TransformerDecoder(nn.Module):
    """Causal blocks; what was computed once is kept (S5.6, S5.7).

    `source` says what becomes of the encoder's states: blocks look at them ("cross"), they are
    vectors that are read before the first token ("read", S3.2 g), or there are none ("none").
    """

    def __init__(
        self,
        embed: PositionalEmbedding,
        blocks: list[Block],
        output: OutputLayer,
        *,
        norm: nn.Module,
        source: Literal["cross", "read", "none"],
    ) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.output = output
        self.source = source

    def start(self, memory: Memory, *, trace: bool = False) -> TransformerState:
        if self.source == "none":
            return State(self._empty_cache(memory.sentences), (), trace)
        if memory.states is None or memory.mask is None:
            raise TypeError("a Transformer decoder needs the encoder's states")
        if self.source == "read":
            return State(self._read_prefix(memory.states, memory.mask), (), trace)
        keys = tuple(block.prepare(memory.states) for block in children_of(self.blocks, Block))
        return State(self._empty_cache(memory.sentences), SourceKeys(keys, memory.mask), trace)

    def read(
        self, inputs: Int[Tensor, "R T"], state: TransformerState
    ) -> tuple[Features, TransformerState]:
        return self.read_vectors(self.embed.embedding(inputs), state)

    def read_vectors(
        self, vectors: Float[Tensor, "R T E"], state: TransformerState
    ) -> tuple[Features, TransformerState]:
        """The same for what may be no token's own vector."""
        steps = next_steps(state.own.positions, vectors.shape[1])
        hidden, caches, weights = self._run_blocks(
            self.embed.add_positions(vectors, steps.at), steps, state
        )
        attention = None if weights is None else weights.mean(dim=1)  # the last block's heads
        own = DecoderCache(caches, state.own.positions + vectors.shape[1])
        return Features(self.norm(hidden), attention), State(own, state.shared, state.trace)

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def _empty_cache(self, rows: int) -> DecoderCache:
        """What paths know that have read nothing."""
        caches = tuple(block.empty_cache(rows) for block in children_of(self.blocks, Block))
        return DecoderCache(
            caches, torch.zeros(rows, dtype=torch.int64, device=caches[0][0].device)
        )

    def _read_prefix(
        self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]
    ) -> DecoderCache:
        """What paths know that have read these vectors.

        Padding lies after a row's last vector: no real step sees it, and later ones replace it.
        """
        lengths = mask.sum(dim=1)
        nothing = self._empty_cache(len(vectors))
        steps = next_steps(nothing.positions, vectors.shape[1], lengths=lengths)
        state: TransformerState = State(nothing, ())
        _, caches, _ = self._run_blocks(self.embed.add_positions(vectors, steps.at), steps, state)
        return DecoderCache(caches, lengths)

    def _run_blocks(
        self, hidden: Float[Tensor, "R T D"], steps: NextSteps, state: TransformerState
    ) -> tuple[Tensor, tuple[Cache, ...], Tensor | None]:
        """Through all blocks: hidden states, what the blocks keep, and the last one's attention."""
        shared, weights, caches = state.shared, None, []
        for number, block in enumerate(children_of(self.blocks, Block)):
            source = (shared.keys[number], shared.mask) if isinstance(shared, SourceKeys) else None
            hidden, cache, weights = block.decode(
                hidden, state.own.caches[number], steps, source, trace=state.trace
            )
            caches.append(cache)
        return hidden, tuple(caches), weights
