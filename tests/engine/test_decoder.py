"""A compiled decoder keeps every law of the protocol, to the digits of float32."""

import pytest
import torch

from seqloom.engine.from_network import decoder_arrays, missing_forms
from seqloom.engine.library import instruction_set, instruction_sets
from seqloom.model import SequenceModel, Source
from tests import checks
from tests.checks import check_decoder
from tests.engine.models import (
    KINDS,
    RECURRENT,
    VOCABULARY,
    Used,
    compiled,
    compiled_encoder,
    small_model,
)
from tests.model.models import NAMED, attends

CLOSE = 2e-5  # of float32, for hidden values and log-probabilities of a few units


@pytest.fixture(autouse=True)
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite asks for 1e-9 of float64; the core has float32, and the laws hold to its digits."""
    monkeypatch.setattr(checks, "EXACT", CLOSE)
    monkeypatch.setattr(checks.assert_close, "__defaults__", (CLOSE,))


@pytest.mark.parametrize("name", [*KINDS, *RECURRENT[::3]])
def test_every_law_of_a_decoder(name: str) -> None:
    """S5.7, S7: reads add up, select is recompute, forks are independent, and beams find
    what brute force finds."""
    made, source = small_model(name, 3)
    used = SequenceModel(made.encoder, Used(made.decoder)).eval()
    check_decoder(used, source, vocabulary=VOCABULARY, seed=1, attends=attends(NAMED[name]))


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("name", [*KINDS, *RECURRENT])
@torch.no_grad()
def test_the_numbers_are_the_decoders_own(name: str, instructions: str) -> None:
    """Features, attention and logits of float64, to float32's digits, in every instruction set."""
    made, source = small_model(name, 4)
    memory, tokens = made.encoder.encode(source), torch.randint(VOCABULARY, (4, 7))
    decoder, engine = made.decoder, compiled(made.decoder)
    expected, _ = decoder.read(tokens, decoder.start(memory, trace=True))
    with instruction_set(instructions):
        features, _ = engine.read(tokens, engine.start(memory, trace=True))
        logits = engine.write(features.hidden)
    torch.testing.assert_close(
        features.hidden.double(), expected.hidden, rtol=CLOSE, atol=CLOSE, check_stride=False
    )
    if expected.attention is not None:
        assert features.attention is not None
        torch.testing.assert_close(
            features.attention.double(), expected.attention, rtol=0, atol=CLOSE
        )
    torch.testing.assert_close(
        logits.double(), decoder.write(expected.hidden), rtol=CLOSE, atol=CLOSE
    )


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("name", [name for name in (*KINDS, *RECURRENT) if "alone" not in name])
@torch.no_grad()
def test_an_encoder_gives_the_states_of_its_original(name: str, instructions: str) -> None:
    """S5.4: at all real positions, for short and long sentences side by side, and the code."""
    made, source = small_model(name, 5)
    tokens = torch.randint(4, 9, (5, 37))
    longer = Source(torch.cat([source.values, tokens], dim=1), source.lengths + 20)
    for each in (source, longer):
        expected, reader = made.encoder.encode(each), compiled_encoder(made.encoder)
        with instruction_set(instructions):
            found = reader.encode(each)
        assert found.states is not None
        assert expected.states is not None
        assert found.mask is not None
        assert torch.equal(found.mask, each.mask)
        states = found.states[found.mask].double()
        torch.testing.assert_close(states, expected.states[each.mask], rtol=CLOSE, atol=CLOSE)
        assert bool((found.states[~found.mask] == 0).all())
        assert found.code is not None
        assert expected.code is not None
        for part, original in zip(found.code, expected.code, strict=True):
            torch.testing.assert_close(part.double(), original, rtol=CLOSE, atol=CLOSE)


@torch.no_grad()
def test_long_outputs_of_many_paths_in_pools_that_are_cleaned() -> None:
    """Paths that fork at every step are still what the decoder makes of their histories, however
    often entries that nobody sees are left behind."""
    made, source = small_model("plain sinusoids", 5)
    decoder, engine = made.decoder, compiled(made.decoder)
    memory, paths = made.encoder.encode(source), 40
    state = engine.start(memory).select(torch.arange(5).repeat_interleave(paths))
    histories = torch.empty(5 * paths, 0, dtype=torch.int64)
    pools = set()
    for _ in range(45):
        parents = torch.randint(2, (5, paths)) + torch.arange(5)[:, None] * paths
        more = torch.randint(VOCABULARY, (5 * paths, 1))
        features, state = engine.read(more, state.select(parents.flatten()))
        histories = torch.cat([histories[parents.flatten()], more], dim=1)
        pools.add(id(state.pool))
    start = decoder.start(memory).select(torch.arange(5).repeat_interleave(paths))
    expected, _ = decoder.read(histories, start)
    last = expected.hidden[:, -1:]
    torch.testing.assert_close(features.hidden.double(), last, rtol=CLOSE, atol=CLOSE)
    assert len(pools) > 1


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(5, 40), (40, 5), (17, 3), (16, 17)])
def test_sentences_join_others_with_sources_of_another_length(lengths: tuple[int, int]) -> None:
    """Each goes on from its own source and history, beside others."""
    made, _ = small_model("plain sinusoids", 2)
    engine = compiled(made.decoder)
    parts = [Source(torch.randint(1, 9, (3, n)), torch.tensor([n, n - 1, 2])) for n in lengths]
    begun = []
    for part, steps in zip(parts, (2, 4), strict=True):
        state = engine.start(made.encoder.encode(part), trace=True)
        begun.append(engine.read(torch.randint(VOCABULARY, (3, steps)), state)[1])
    every, tokens = torch.arange(3), torch.randint(VOCABULARY, (6, 1))
    alone = [
        engine.read(tokens[rows], state.select(every))[0]
        for state, rows in zip(begun, (slice(3), slice(3, 6)), strict=True)
    ]
    together, _ = engine.read(tokens, begun[0].join(begun[1]))
    assert together.attention is not None
    for features, rows in zip(alone, (slice(3), slice(3, 6)), strict=True):
        assert features.attention is not None
        assert torch.equal(together.hidden[rows], features.hidden)
        width = features.attention.shape[2]
        assert torch.equal(together.attention[rows, :, :width], features.attention)
        assert bool((together.attention[rows, :, width:] == 0).all())


@pytest.mark.parametrize("token", [-1, VOCABULARY])
def test_a_token_that_is_none_is_refused(token: int) -> None:
    """The core trusts what it is given, so nothing that it does not know gets there."""
    made, source = small_model("plain sinusoids", 1)
    engine = compiled(made.decoder)
    state = engine.start(made.encoder.encode(source))
    with pytest.raises(IndexError, match="is not one of the 6"):
        engine.read(torch.tensor([[token]]), state)


@torch.no_grad()
def test_every_model_is_compiled_or_says_why_not() -> None:
    """All kinds of models that a configuration can ask for, each with the numbers of its original;
    those without a form name the part."""
    reasons = set()
    for name in sorted(NAMED)[::5]:
        made, source = small_model(name, 2)
        arrays = decoder_arrays(made.decoder)
        if isinstance(arrays, str):
            reasons.add(arrays)
            continue
        engine, memory = compiled(made.decoder), made.encoder.encode(source)
        tokens = torch.randint(VOCABULARY, (2, 4))
        expected, _ = made.decoder.read(tokens, made.decoder.start(memory))
        features, _ = engine.read(tokens, engine.start(memory))
        torch.testing.assert_close(
            features.hidden.double(), expected.hidden, rtol=CLOSE, atol=CLOSE, check_stride=False
        )
    assert reasons <= {"a decoder that reads the source's vectors at joint positions"}


def test_the_missing_side_of_a_network_is_named() -> None:
    """What `describe` shows of a network that runs on torch."""
    assert missing_forms(small_model("lstm form e", 1)[0]) == []
    made, _ = small_model("plain joint reads", 1)
    reason = "a decoder that reads the source's vectors at joint positions"
    assert missing_forms(made) == [("decoder", reason)]
