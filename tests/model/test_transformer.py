"""S5.6, S5.7, S3.2 (g): Transformer encoders, and decoders that look at a source, read it, or
have none, with every mixing and every kind of positions."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqloom.model import Memory, Source
from seqloom.model.transformer import PositionalEmbedding, TransformerDecoder, TransformerEncoder
from seqloom.nn.embedding import Embedding, OutputLayer
from seqloom.nn.positions import (
    AddedSinusoids,
    AppendedSinusoids,
    JointPositions,
    LearnedPositions,
    NoPositions,
    OneHotPositions,
    Positions,
)
from seqloom.nn.transformer import Block, BlockOptions
from tests.counts import count
from tests.nn.parts import stirred, values

pytestmark = pytest.mark.faults

TOKENS, VECTORS, MOST, SOURCE = 9, 6, 4, 5  # rows below are longer than MOST
LENGTHS = torch.tensor([3, 6, 1])
MASK = torch.arange(6) < LENGTHS[:, None]

POSITIONS: dict[str, Callable[[], Positions]] = {
    "none": NoPositions,
    "one-hot": lambda: OneHotPositions(MOST),
    "sinusoids-appended": lambda: AppendedSinusoids(4),
    "sinusoids": AddedSinusoids,
    "learned": lambda: LearnedPositions(MOST, VECTORS),
    "joint": lambda: JointPositions(MOST, VECTORS, 8),
    "rotary": NoPositions,
}


class Kind(NamedTuple):
    """What is chosen of a Transformer's parts."""

    mixing: str
    positions: str
    norm_first: bool

    def options(self, width: int, source: int | None = None) -> BlockOptions:
        chosen: dict[str, Any] = {"mixing": self.mixing, "norm_first": self.norm_first}
        rotary = self.positions == "rotary"
        return BlockOptions(width, 7, 2, 4, 3, **chosen, rotary=rotary, source=source, dropout=0.3)


EVERY = [
    Kind(*chosen)
    for chosen in product(["attention", "simple", "ssru"], POSITIONS, [True, False])
    if chosen[0] == "attention" or chosen[1] != "rotary"
]
SOME = EVERY[:: count(3, 1)]
each_kind = pytest.mark.parametrize("kind", SOME, ids=lambda kind: "-".join(map(str, kind)))
each_source = pytest.mark.parametrize("source", ["cross", "read", "none"])


def embedded(kind: Kind) -> tuple[PositionalEmbedding, int]:
    """Token vectors with positions, and their size."""
    positions = POSITIONS[kind.positions]()
    embedding = Embedding(TOKENS, VECTORS)
    return PositionalEmbedding(embedding, positions, dropout=0.3), positions.width(VECTORS)


def decoder(kind: Kind, source: Any) -> TransformerDecoder:
    """Two blocks in use, none of whose weights has its first value."""
    torch.manual_seed(1)
    embed, width = embedded(kind)
    options = kind.options(width, SOURCE if source == "cross" else None)
    blocks, output = [Block(options), Block(options)], OutputLayer(width, TOKENS, tied=None)
    norm = nn.LayerNorm(width) if kind.norm_first else nn.Identity()
    return stirred(TransformerDecoder(embed, blocks, output, norm=norm, source=source)).eval()


def encoder(kind: Kind) -> TransformerEncoder:
    torch.manual_seed(1)
    embed, width = embedded(kind)
    blocks = [Block(kind.options(width)), Block(kind.options(width))]
    return stirred(TransformerEncoder(embed, blocks, norm=nn.LayerNorm(width))).eval()


def memory(source: str, rows: Tensor | None = None) -> Memory:
    """What an encoder would have handed over of these sentences, of unequal lengths."""
    rows = torch.arange(len(LENGTHS)) if rows is None else rows
    if source == "none":
        return Memory(len(rows))
    return Memory(
        len(rows), values(3, 6, SOURCE if source == "cross" else VECTORS)[rows], MASK[rows]
    )


def tokens(rows: int, steps: int) -> Tensor:
    return torch.randint(TOKENS, (rows, steps), generator=torch.Generator().manual_seed(steps))


def hidden(built: TransformerDecoder, given: Memory, inputs: Tensor, *cuts: int) -> Tensor:
    """What the decoder makes of tokens that are read in pieces of these sizes."""
    state, parts = built.start(given), []
    for piece in inputs.split(list(cuts) or [inputs.shape[1]], dim=1):
        features, state = built.read(piece, state)
        parts.append(features.hidden)
    return torch.cat(parts, dim=1)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


@each_kind
@each_source
def test_reads_add_up(kind: Kind, source: str) -> None:
    """S5.7: one read of T is T reads of one, in outputs and in gradients."""
    built, inputs = decoder(kind, source), tokens(3, 6)
    whole = hidden(built, memory(source), inputs)
    parameters = [each for part in (built.embed, built.blocks) for each in part.parameters()]
    expected = torch.autograd.grad(whole.sin().sum(), parameters)
    for cuts in ((1,) * 6, (4, 2), (1, 3, 2)):
        with torch.no_grad():
            close(hidden(built, memory(source), inputs, *cuts), whole)
        pieces = hidden(built, memory(source), inputs, *cuts)
        gradients = torch.autograd.grad(pieces.sin().sum(), parameters)
        for mine, theirs in zip(gradients, expected, strict=True):
            close(mine, theirs)


@each_kind
@each_source
@torch.no_grad()
def test_paths_remember_their_own_history(kind: Kind, source: str) -> None:
    """S7.3: rows that are reordered, repeated and dropped equal rows read from the start."""
    built, inputs = decoder(kind, source), tokens(3, 2)
    _, state = built.read(inputs, built.start(memory(source)))
    rows, sentences = torch.tensor([4, 5, 1, 1]), torch.tensor([2, 0])
    state = state.select(torch.arange(3).repeat_interleave(2)).select(rows, sentences)
    more = tokens(4, 3)
    histories = torch.cat([inputs.repeat_interleave(2, dim=0)[rows], more], dim=1)
    features, _ = built.read(more, state)
    expected = hidden(built, memory(source, sentences.repeat_interleave(2)), histories)
    close(features.hidden, expected[:, 2:])


@each_kind
@torch.no_grad()
def test_a_prefix_is_read_as_tokens_are(kind: Kind) -> None:
    """S3.2 (g): one network reads and then goes on writing, whatever the batch mates' lengths.

    A language model of the same weights that reads each source and output as one row agrees.
    """
    built, single, inputs = decoder(kind, "read"), decoder(kind, "none"), tokens(3, 5)
    sources = tokens(3, 6)
    given = Memory(3, built.embed.embedding(sources), MASK)
    for cuts in ((5,), (1,) * 5):
        together = hidden(built, given, inputs, *cuts)
        for row, length in enumerate(LENGTHS.tolist()):
            whole = torch.cat([sources[row, :length], inputs[row]])[None]
            close(together[row], hidden(single, Memory(1), whole)[0, length:])


@each_kind
@pytest.mark.parametrize("source", ["cross", "read"])
@torch.no_grad()
def test_padding_changes_nothing_and_is_not_changed(kind: Kind, source: str) -> None:
    """Padding's content and amount are without effect, and what was handed over stays as it is."""
    built, inputs, given = decoder(kind, source), tokens(3, 5), memory(source)
    assert given.states is not None
    expected = hidden(built, given, inputs)
    padded = torch.where(MASK[:, :, None], given.states, 1e3)
    wider = nn.functional.pad(padded, (0, 0, 0, 7), value=-1e3)
    before = wider.clone()
    for cuts in ((5,), (1,) * 5, (2, 1, 2)):
        mask = nn.functional.pad(MASK, (0, 7))
        close(hidden(built, Memory(3, wider, mask), inputs, *cuts), expected)
        assert torch.equal(wider, before)


@each_kind
@each_source
@torch.no_grad()
def test_traced_attention_is_that_to_the_source(kind: Kind, source: str) -> None:
    """S4.6: the mean over the last block's heads, or nothing where no source is looked at."""
    built, inputs = decoder(kind, source), tokens(3, 4)
    features, _ = built.read(inputs, built.start(memory(source), trace=True))
    close(features.hidden, hidden(built, memory(source), inputs))
    if source != "cross":
        assert features.attention is None
        return
    assert features.attention is not None
    close(features.attention.sum(-1), torch.ones(3, 4, dtype=torch.float64))
    assert bool((features.attention[~MASK[:, None].expand(-1, 4, -1)] == 0).all())


@each_kind
@torch.no_grad()
def test_an_encoder_s_code_is_its_last_real_state(kind: Kind) -> None:
    """S5.6: each sentence's states and code are those it has alone."""
    built, inputs = encoder(kind), tokens(3, 6)
    together = built.encode(Source(inputs, LENGTHS))
    assert together.states is not None
    assert together.code is not None
    (code,) = together.code
    for row, length in enumerate(LENGTHS.tolist()):
        alone = built.encode(Source(inputs[row : row + 1, :length], LENGTHS[row : row + 1]))
        assert alone.states is not None
        close(together.states[row, :length], alone.states[0])
        close(code[row], alone.states[0, -1:])


@each_source
def test_a_decoder_without_what_it_needs_says_so(source: str) -> None:
    """A language model needs the number of sentences alone."""
    built = decoder(EVERY[0], source)
    if source == "none":
        assert hidden(built, Memory(2), tokens(2, 3)).shape == (2, 3, VECTORS)
        return
    with pytest.raises(TypeError, match="needs the encoder's states"):
        built.start(Memory(2))


def test_what_was_known_before_does_not_depend_on_gradients() -> None:
    """A state made without gradients can be gone on from with them, as a carried state is."""
    built, inputs = decoder(Kind("attention", "sinusoids", True), "none"), tokens(3, 5)
    with torch.no_grad():
        _, state = built.read(inputs[:, :2], built.start(Memory(3)))
        expected = hidden(built, Memory(3), inputs)
    for step in range(2, 5):
        features, state = built.read(inputs[:, step : step + 1], state)
        close(features.hidden, expected[:, step : step + 1])
    features.hidden.sum().backward()
