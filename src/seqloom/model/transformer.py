"""Transformer encoder and decoder (S5)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.config import (
    DECODERS,
    ENCODERS,
    POSITIONS,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from seqloom.errors import ConfigError
from seqloom.model.connections import CODE, STATES, Connection, ConnectionNode, Connections, Steps
from seqloom.model.encoders import input_connections
from seqloom.model.parts import DecoderModule, DecoderSizes, EncoderModule, EncoderSizes
from seqloom.model.state import Features, Feedback, Memory, Source, State
from seqloom.nn.embedding import OutputLayer, Vectors, token_vectors, vectors_label
from seqloom.nn.half_layers import InputNorm
from seqloom.nn.modules import Dropout, Readout, children_of, is_traced
from seqloom.nn.positions import Positions, PositionSizes
from seqloom.nn.token_mixing import Cache, NextSteps, next_steps
from seqloom.nn.transformer import Block, BlockOptions, Keys

__all__ = ["PositionalEmbedding", "TransformerDecoder", "TransformerEncoder", "TransformerState"]


TransformerPart = TransformerEncoderConfig | TransformerDecoderConfig


class PositionalEmbedding(nn.Module):
    """Embeddings with positional encoding (S5.3)."""

    def __init__(self, embedding: Vectors, positions: Positions, *, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(
        self,
        items: Int[Tensor, "R T"] | Int[Tensor, "R T C"] | Float[Tensor, "R T C"],
        at: Int[Tensor, "#R T"],
    ) -> Float[Tensor, "R T D"]:
        """Embed items; `at` is the number of items before each."""
        return self.add_positions(self.embedding(items), at)

    def add_positions(
        self, vectors: Float[Tensor, "R T E"], at: Int[Tensor, "#R T"]
    ) -> Float[Tensor, "R T D"]:
        """Add positions to given vectors."""
        return self.dropout(self.positions(vectors, at))


@ENCODERS.part("transformer")
class TransformerEncoder(EncoderModule):
    """A Transformer encoder; the code is the last state.

    Vaswani et al. 2017, Attention Is All You Need.
    """

    def __init__(self, embed: PositionalEmbedding, blocks: list[Block], *, norm: nn.Module) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.width = blocks[0].width

    @classmethod
    def build(cls, options: TransformerEncoderConfig, vectors: Vectors) -> "TransformerEncoder":
        embed = _embedding(options, vectors, "model.encoder")
        return cls(embed, _blocks(options, embed.positions, source=None), norm=_norm(options))

    @property
    def sizes(self) -> EncoderSizes:
        return EncoderSizes(self.width, (1, self.width))

    def encode(self, source: Source) -> Memory:
        mask, rows = source.mask, len(source.lengths)
        *_, hidden = self._hidden_layers(source, mask)
        states = self.norm(hidden)
        last = states[torch.arange(rows, device=mask.device), source.lengths - 1]
        return Memory(rows, states, mask, code=(last[:, None],))

    def layer_states(self, source: Source) -> list[Float[Tensor, "B S _"]]:
        *below, hidden = self._hidden_layers(source, source.mask)
        return [*below, self.norm(hidden)]

    def _hidden_layers(
        self, source: Source, mask: Bool[Tensor, "B S"]
    ) -> Iterator[Float[Tensor, "B S D"]]:
        """The embeddings with positions, then the output of each block."""
        padded = None if is_traced() or bool(mask.all()) else mask[:, None, None]
        steps = torch.arange(source.values.shape[1], device=mask.device)
        hidden = self.embed(source.values, steps[None])
        yield hidden
        for block in children_of(self.blocks, Block):
            hidden = block.encode(hidden, padded)
            yield hidden

    def connections(self) -> Connections:
        blocks = list(children_of(self.blocks, Block))
        inner, top = _block_connections(blocks, "encoder", "all")
        edges = Connection(top, STATES), Connection(STATES, CODE, "code", "tail-last")
        norm: Literal["first", "none"] = "first" if blocks[0].norm_first else "none"
        found = (
            input_connections(self.embed.embedding, norm).merge(inner).merge(Connections((), edges))
        )
        return found.merge(_position_connections(self.embed, blocks, "encoder"))


class DecoderCache(NamedTuple):
    """The cache of a path: every block's, and the number of tokens read."""

    caches: tuple[Cache, ...]
    positions: Int[Tensor, "R"]


class SourceKeys(NamedTuple):
    """Keys and values of a sentence's source, for every block."""

    keys: tuple[Keys, ...]
    mask: Bool[Tensor, "B S"]


TransformerState = State[DecoderCache, SourceKeys | tuple[()]]


@DECODERS.part("transformer")
class TransformerDecoder(DecoderModule):
    """A Transformer decoder with a key-value cache (S5.6, S5.7).

    `source` is how the source enters: by cross-attention ("cross"), as vectors read before the
    first token ("read", S3.2 g), or not at all ("none").

    Vaswani et al. 2017, Attention Is All You Need; source read first: Liu et al. 2018, Generating
    Wikipedia by Summarizing Long Sequences.
    """

    def __init__(  # noqa: PLR0913
        self,
        embed: PositionalEmbedding,
        blocks: list[Block],
        output: OutputLayer,
        *,
        norm: nn.Module,
        source: Literal["cross", "read", "none"],
        readout: Readout | None = None,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.readout = readout or Readout(output.width, "affine")
        self.output = output
        self.source = source

    @classmethod
    def build(cls, options: TransformerDecoderConfig, sizes: DecoderSizes) -> "TransformerDecoder":
        states, vectors = sizes.source.states, sizes.vectors
        source: Literal["cross", "read", "none"] = "none"
        if states is not None:
            source = "read" if cls.reads_source(options) else "cross"
        if source == "read" and states != vectors.width:
            raise ConfigError(
                "model.decoder.source = 'read' needs a source of vectors as wide as the "
                f"target's, {vectors.width}, not {states}",
                remedy="use model.encoder.kind = 'vectors'",
            )
        embed = _embedding(options, vectors, "model.decoder")
        return cls(
            embed,
            _blocks(options, embed.positions, source=states if source == "cross" else None),
            sizes.output_layer(options.width),
            norm=_norm(options),
            source=source,
            readout=Readout(options.width, options.readout),
        )

    @classmethod
    def reads_source(cls, options: TransformerDecoderConfig) -> bool:
        return options.source == "read"

    @property
    def width(self) -> int:
        return self.output.width

    @property
    def attends(self) -> bool:
        return self.source == "cross"

    @property
    def feedback(self) -> Feedback | None:
        vectors = token_vectors(self.embed.embedding)
        return None if vectors is None else Feedback(vectors, self.read_vectors, by_steps=False)

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
        steps = next_steps(state.own.positions, vectors.shape[1])
        (*_, hidden), caches, weights = self._run_blocks(
            self.embed.add_positions(vectors, steps.at), steps, state
        )
        attention = None if weights is None else weights.mean(dim=1)  # the last block's heads
        own = DecoderCache(caches, state.own.positions + vectors.shape[1])
        return Features(self.readout(self.norm(hidden)), attention), State(
            own, state.shared, state.trace
        )

    def write(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return self.output(hidden)

    def layer_states(
        self, inputs: Int[Tensor, "B T"], memory: Memory
    ) -> list[Float[Tensor, "B T _"]]:
        state = self.start(memory)
        steps = next_steps(state.own.positions, inputs.shape[1])
        read = self.embed.add_positions(self.embed.embedding(inputs), steps.at)
        (*below, hidden), _, _ = self._run_blocks(read, steps, state)
        return [*below, self.readout(self.norm(hidden))]

    def _empty_cache(self, rows: int) -> DecoderCache:
        """The cache of paths that have read nothing."""
        caches = tuple(block.empty_cache(rows) for block in children_of(self.blocks, Block))
        return DecoderCache(
            caches, torch.zeros(rows, dtype=torch.int64, device=caches[0][0].device)
        )

    def _read_prefix(
        self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]
    ) -> DecoderCache:
        """The cache of paths that have read these vectors.

        Padding lies after a row's last vector: no real step sees it, and later steps overwrite it.
        """
        lengths = mask.sum(dim=1)
        nothing = self._empty_cache(len(vectors))
        steps = next_steps(nothing.positions, vectors.shape[1], lengths=lengths)
        state: TransformerState = State(nothing, ())
        _, caches, _ = self._run_blocks(self.embed.add_positions(vectors, steps.at), steps, state)
        return DecoderCache(caches, lengths)

    def _run_blocks(
        self, hidden: Float[Tensor, "R T D"], steps: NextSteps, state: TransformerState
    ) -> tuple[list[Tensor], tuple[Cache, ...], Tensor | None]:
        """Hidden states before and after each block, the blocks' caches, and the last block's
        attention."""
        shared, weights, caches, layers = state.shared, None, [], [hidden]
        for number, block in enumerate(children_of(self.blocks, Block)):
            source = (shared.keys[number], shared.mask) if isinstance(shared, SourceKeys) else None
            hidden, cache, weights = block.decode(
                hidden, state.own.caches[number], steps, source, trace=state.trace
            )
            caches.append(cache)
            layers.append(hidden)
        return layers, tuple(caches), weights

    def connections(self) -> Connections:
        blocks = list(children_of(self.blocks, Block))
        inner, top = _block_connections(blocks, "decoder", "until")
        norm: Literal["first", "none"] = "first" if blocks[0].norm_first else "none"
        nodes = (
            ConnectionNode("decoder.input", "input", label=vectors_label(self.embed.embedding)),
            ConnectionNode("decoder.readout", "readout", norm, label="norm"),
            ConnectionNode("decoder.output", "output", label="output"),
        )
        edges = [
            Connection("decoder.output", "decoder.input", "feedback", "previous"),
            Connection(top, "decoder.readout"),
            Connection("decoder.readout", "decoder.output"),
        ]
        if self.source == "read":
            edges.append(Connection(STATES, "decoder.input", "prefix", "prefix"))
        found = Connections(nodes, tuple(edges)).merge(inner)
        return found.merge(_position_connections(self.embed, blocks, "decoder"))


def _blocks(options: TransformerPart, positions: Positions, *, source: int | None) -> list[Block]:
    head = options.head_size or options.width // options.heads
    block = BlockOptions(
        width=options.width,
        inner=options.inner,
        heads=options.heads,
        head_width=head,
        value_width=options.value_size or head,
        bias=options.attention_bias,
        norm_first=options.norm == "first",
        inner_kind=options.activation,
        mixing=options.mixing,
        rotary=positions.rotary,
        dropout=options.dropout,
        source=source,
    )
    return [Block(block) for _ in range(options.layers)]


def _embedding(options: TransformerPart, vectors: Vectors, place: str) -> PositionalEmbedding:
    head = options.head_size or options.width // options.heads
    part: type[Positions] = POSITIONS.parts[options.positions.kind]
    sizes = PositionSizes(vectors.width, options.width, head, place)
    positions = part.build(options.positions, sizes)
    if not options.head_size and options.width % options.heads:
        raise ConfigError(
            f"{options.heads} heads do not divide a width of {options.width}",
            place=place,
            remedy=f"change one of them, or set {place}.head_size, the size of one",
        )
    width = positions.width(vectors.width)
    if width != options.width:
        raise ConfigError(
            f"a Transformer of width {options.width} cannot read token vectors of "
            f"{vectors.width} with positions {options.positions.kind!r}, which make {width} of "
            "them",
            place=place,
            remedy=f"change model.embedding or {place}.width",
        )
    return PositionalEmbedding(vectors, positions, dropout=options.dropout)


def _norm(options: TransformerPart) -> nn.Module:
    """The final layer norm of pre-norm blocks; None for post-norm."""
    return InputNorm(options.width) if options.norm == "first" else nn.Identity()


def _block_connections(blocks: Sequence[Block], side: str, seen: Steps) -> tuple[Connections, str]:
    """The residual steps of blocks over a side's input, and the last of them."""
    found, below = Connections(), f"{side}.input"
    for number, block in enumerate(blocks):
        names = [f"{side}.blocks.{number}.{each}" for each in block.sublayers]
        norm: Literal["first", "after"] = "first" if block.norm_first else "after"
        nodes = tuple(
            ConnectionNode(name, "layer", norm, label=_sublayer_label(block, name))
            for name in names
        )
        edges = [Connection(a, b) for a, b in pairwise([below, *names])]
        if block.attention.name == "recurrence":
            edges.append(Connection(names[0], names[0], "time", "previous"))
        else:
            edges.append(Connection(below, names[0], "self-attention", seen))
        if block.cross is not None:
            edges.append(Connection(STATES, names[1], "attention", "all"))
        found, below = found.merge(Connections(nodes, tuple(edges))), names[-1]
    return found, below


def _sublayer_label(block: Block, name: str) -> str:
    """The label of a block's sublayer, with its heads or its inner size."""
    step = name.rpartition(".")[2]
    sizes = {
        "self-attention": f", {block.heads} heads",
        "cross-attention": f", {block.heads} heads",
        "feed-forward": f" of {block.inner}",
    }
    return step + sizes.get(step, f" of {block.width}")


def _position_connections(
    embed: PositionalEmbedding, blocks: Sequence[Block], side: str
) -> Connections:
    """The edges by which positions enter: at the vectors, or at the queries and keys of every
    self-attention.
    """
    node = ConnectionNode(f"{side}.positions", "source", label="positions")
    heads = [f"{side}.input"] if embed.positions.absolute else []
    if embed.positions.rotary:
        heads = [f"{side}.blocks.{n}.{block.attention.name}" for n, block in enumerate(blocks)]
    if not heads:
        return Connections()
    edges = tuple(Connection(node.name, head, "positions") for head in heads)
    return Connections((node,), edges)
