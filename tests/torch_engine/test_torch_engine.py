"""The engine is one more decoder: it keeps every law of the protocol and gives the same numbers."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqloom.config import ModelConfig
from seqloom.engine.core_model import Engine
from seqloom.model import Decoder, DecoderModule, Features, Memory, SequenceModel, Source
from seqloom.randomness import key
from seqloom.search import (
    Beam,
    DiverseBeam,
    Exact,
    Greedy,
    PatientBeam,
    Sample,
    Search,
    StochasticBeam,
)
from seqloom.torch_engine.decoder import DecoderEngine, fast_decoder
from seqloom.torch_engine.encoder import EncoderEngine, fast_encoder
from seqloom.torch_engine.packing import PackedMemory, pack_memory
from tests.checks import check_decoder
from tests.model.models import NAMED, model_of, sources
from tests.prediction.untrained import SOURCES, untrained

VOCABULARY = 6
PLAIN = "plain sinusoids"
KINDS = [
    PLAIN,
    "plain learned",
    "plain none",
    "after sinusoids",
    "bias sinusoids",
    "gated learned",
    "lstm to transformer",
    "backwards transformer",
]
WITHOUT = [
    "plain rotary",
    "plain appended",
    "sizes sinusoids",
    "simple sinusoids",
    "ssru sinusoids",
    "plain sinusoids reads",
    "plain sinusoids alone",
    "transformer to form e",
]


class Used(DecoderModule):
    """A decoder that is always used through an engine of its present weights."""

    def __init__(self, decoder: Decoder[Any]) -> None:
        super().__init__()
        self.decoder = decoder

    @property
    def engine(self) -> DecoderEngine:
        engine = fast_decoder(self.decoder)
        assert isinstance(engine, DecoderEngine)
        return engine

    def start(self, memory: Memory, *, trace: bool = False) -> Any:
        return self.engine.start(memory, trace=trace)

    def read(self, inputs: Tensor, state: Any) -> tuple[Features, Any]:
        return self.engine.read(inputs, state)

    def write(self, hidden: Tensor) -> Tensor:
        return self.engine.write(hidden)


def model(name: str, count: int) -> tuple[SequenceModel, Source]:
    """A model of this kind, in float64, and so many sentences for it."""
    torch.manual_seed(key(count, name))
    made = model_of(NAMED[name], source_size=9, target_size=VOCABULARY)
    return made, sources(count, size=9)


@pytest.mark.parametrize("name", KINDS)
def test_every_law_of_a_decoder(name: str) -> None:
    """S5.7, S7: with few sentences every one that leaves closes the gap behind it."""
    made, source = model(name, 3)
    used = SequenceModel(made.encoder, Used(made.decoder)).eval()
    check_decoder(used, source, vocabulary=VOCABULARY, seed=1)


def test_every_law_of_a_decoder_with_gaps() -> None:
    """With many sentences some that have left keep their places for a while."""
    made, source = model(PLAIN, 9)
    used = SequenceModel(made.encoder, Used(made.decoder)).eval()
    check_decoder(used, source, vocabulary=VOCABULARY, seed=2)


@pytest.mark.parametrize("name", KINDS)
@torch.no_grad()
def test_the_numbers_are_the_decoders_own(name: str) -> None:
    """Features, attention and logits, to the last digits of float64."""
    made, source = model(name, 4)
    memory, tokens = made.encoder.encode(source), torch.randint(VOCABULARY, (4, 7))
    decoder, engine = made.decoder, fast_decoder(made.decoder)
    expected, _ = decoder.read(tokens, decoder.start(memory, trace=True))
    features, _ = engine.read(tokens, engine.start(memory, trace=True))
    torch.testing.assert_close(features, expected, rtol=0, atol=1e-12)
    logits = decoder.write(expected.hidden)
    torch.testing.assert_close(engine.write(features.hidden), logits, rtol=0, atol=1e-12)


@torch.no_grad()
def test_long_outputs_of_many_paths() -> None:
    """Paths that fork at every step, far past the room of the first table, are still what the
    decoder makes of their histories."""
    made, source = model(PLAIN, 5)
    decoder, engine = made.decoder, fast_decoder(made.decoder)
    memory, paths = made.encoder.encode(source), 3
    state = engine.start(memory).select(torch.arange(5).repeat_interleave(paths))
    histories = torch.empty(5 * paths, 0, dtype=torch.int64)
    for _ in range(40):
        parents = torch.randint(paths, (5, paths)) + torch.arange(5)[:, None] * paths
        more = torch.randint(VOCABULARY, (5 * paths, 1))
        features, state = engine.read(more, state.select(parents.flatten()))
        histories = torch.cat([histories[parents.flatten()], more], dim=1)
    start = decoder.start(memory).select(torch.arange(5).repeat_interleave(paths))
    expected, _ = decoder.read(histories, start)
    torch.testing.assert_close(features.hidden, expected.hidden[:, -1:], rtol=0, atol=1e-11)


@torch.no_grad()
@pytest.mark.parametrize(
    "chosen", [[0, 1, 2, 3, 5, 7, 6], [3, 3, 1, 0, 7, 6, 5], [0] * 9, [6, 1], [2, 2]]
)
def test_sentences_leave_in_any_order_or_twice(chosen: list[int]) -> None:
    """Each goes on from its own source and history, beside others or beside itself."""
    made, source = model(PLAIN, 8)
    decoder, engine = made.decoder, fast_decoder(made.decoder)
    memory, rows = made.encoder.encode(source), torch.tensor(chosen)
    histories = torch.randint(VOCABULARY, (8, 3))
    _, state = engine.read(histories, engine.start(memory))
    state, histories = state.select(rows, rows), histories[rows]
    for _ in range(3):
        more = torch.randint(VOCABULARY, (len(rows), 1))
        features, state = engine.read(more, state)
        histories = torch.cat([histories, more], dim=1)
        state = state.select(torch.arange(len(rows)))
    chosen_source = Source(source.values[rows], source.lengths[rows])
    start = decoder.start(made.encoder.encode(chosen_source))
    expected, _ = decoder.read(histories, start)
    torch.testing.assert_close(features.hidden, expected.hidden[:, -1:], rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(5, 40), (40, 5), (17, 3), (16, 17)])
def test_sentences_join_others_with_sources_of_another_length(lengths: tuple[int, int]) -> None:
    """None looks at what a source is padded with beside a longer one."""
    made, _ = model(PLAIN, 2)
    engine = fast_decoder(made.decoder)
    parts = [Source(torch.randint(1, 9, (3, n)), torch.tensor([n, n - 1, 2])) for n in lengths]
    first, second = (engine.start(made.encoder.encode(part)) for part in parts)
    tokens = torch.randint(VOCABULARY, (6, 1))
    together, _ = engine.read(tokens, first.join(second))
    for part, rows in zip(parts, (slice(3), slice(3, 6)), strict=True):
        alone, _ = engine.read(tokens[rows], engine.start(made.encoder.encode(part)))
        torch.testing.assert_close(together.hidden[rows], alone.hidden, rtol=0, atol=1e-12)


@torch.no_grad()
def test_an_engine_keeps_the_weights_it_was_made_of() -> None:
    """Training goes on beside it and changes nothing in it; a new engine has the new weights."""
    made, source = model("plain learned", 2)
    assert isinstance(made.decoder, nn.Module)
    memory, tokens = made.encoder.encode(source), torch.tensor([[4], [5]])
    engine = fast_decoder(made.decoder)

    def logits(decoder: Decoder[Any]) -> Tensor:
        features, _ = decoder.read(tokens, decoder.start(memory))
        return decoder.write(features.hidden)

    before = logits(engine)
    for parameter in made.decoder.parameters():
        parameter.add_(0.5)
    assert torch.equal(logits(engine), before)
    torch.testing.assert_close(logits(fast_decoder(made.decoder)), logits(made.decoder))
    assert not torch.allclose(logits(made.decoder), before)


@pytest.mark.parametrize("name", WITHOUT)
def test_other_decoders_are_used_as_they_are(name: str) -> None:
    """What the engine has no form for stays with its own decoder."""
    made, _ = model(name, 1)
    assert fast_decoder(made.decoder) is made.decoder


READ = ["plain sinusoids", "plain appended", "after learned", "bias none", "gated joint"]


@pytest.mark.parametrize("name", READ)
@torch.no_grad()
def test_a_reader_gives_the_encoders_states(name: str) -> None:
    """S5.4: at all real positions, for short and long sentences side by side, and the code."""
    made, source = model(name, 5)
    tokens = torch.randint(4, 9, (5, 37))
    longer = Source(torch.cat([source.values, tokens], dim=1), source.lengths + 20)
    for each in (source, longer):
        expected, reader = made.encoder.encode(each), fast_encoder(made.encoder)
        assert isinstance(reader, EncoderEngine)
        found = reader.encode(each)
        assert found.states is not None
        assert expected.states is not None
        assert found.mask is not None
        assert torch.equal(found.mask, each.mask)
        states = found.states[found.mask]
        torch.testing.assert_close(states, expected.states[found.mask], rtol=0, atol=1e-12)
        torch.testing.assert_close(found.code, expected.code, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["plain sinusoids", "after learned", "bias none"])
@torch.no_grad()
def test_a_writer_takes_what_its_reader_has_gathered(name: str) -> None:
    """Its real positions are those of the mask, and the writer makes the same of them, to the bit,
    as of states among which it has to look for them."""
    made, source = model(name, 5)
    memory = fast_encoder(made.encoder).encode(source)
    assert isinstance(memory, PackedMemory)
    assert memory.states is not None
    assert torch.equal(memory.real_states, memory.states[source.mask])
    engine, tokens = fast_decoder(made.decoder), torch.randint(VOCABULARY, (5, 4))
    assert pack_memory(memory, memory.packing.heads)[0] is memory.packing
    plain = Memory(memory.sentences, memory.states, memory.mask, memory.code)
    found, expected = (
        engine.read(tokens, engine.start(each, trace=True))[0] for each in (memory, plain)
    )
    assert torch.equal(found.hidden, expected.hidden)
    assert found.attention is not None
    assert expected.attention is not None
    assert torch.equal(found.attention, expected.attention)


@torch.no_grad()
def test_a_writer_with_other_heads_looks_for_itself() -> None:
    """What was gathered for four heads is of no use to two."""
    torch.manual_seed(key(1, "other heads"))
    config = NAMED[PLAIN].model_dump()
    config["encoder"]["heads"] = 4
    made = model_of(ModelConfig.model_validate(config), source_size=9, target_size=VOCABULARY)
    memory = fast_encoder(made.encoder).encode(sources(3, size=9))
    assert isinstance(memory, PackedMemory)
    assert memory.packing.heads == 4
    decoder, engine, tokens = (
        made.decoder,
        fast_decoder(made.decoder),
        torch.randint(VOCABULARY, (3, 4)),
    )
    expected, _ = decoder.read(tokens, decoder.start(memory))
    found, _ = engine.read(tokens, engine.start(memory))
    torch.testing.assert_close(found.hidden, expected.hidden, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["plain rotary", "sizes none", "simple none", "lstm form e"])
def test_other_encoders_are_used_as_they_are(name: str) -> None:
    made, _ = model(name, 1)
    assert fast_encoder(made.encoder) is made.encoder


SEARCHES = [
    Greedy(),
    Beam(4, n_best=2),
    PatientBeam(4, n_best=2),
    Exact(),
    Sample(draws=2),
    StochasticBeam(3),
    DiverseBeam(6),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_every_search_gives_the_same(search: Search) -> None:
    """Texts, scores and attention, whether the parts themselves are used or what is made of them
    (RELIABILITY C2)."""
    plain = untrained("transformer", seed=3)
    engine, reader = fast_decoder(plain.network.decoder), fast_encoder(plain.network.encoder)
    fitted = replace(plain, engine=Engine(reader, engine))
    expected = plain.predict(SOURCES * 3, search=search, attention=True)
    found = fitted.predict(SOURCES * 3, search=search, attention=True)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.text == theirs.text
        assert ours.score == pytest.approx(theirs.score, abs=1e-9)
        assert ours.attention == pytest.approx(theirs.attention, abs=1e-9)
