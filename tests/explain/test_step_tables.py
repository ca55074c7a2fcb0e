"""Each step in numbers: cells of recurrent units, guesses of layers, and parts switched off."""

import copy
import math

import numpy as np
import pytest
import torch

from seqloom.errors import ConfigError
from seqloom.explanations.instrumented_copy import find_parts
from seqloom.explanations.step_tables import layer_guesses, residual_norms, unit_table
from seqloom.explanations.switches import GateSwitch, HeadSwitch, switch_off
from seqloom.explanations.tracing import trace_decoder
from seqloom.explanations.unit_search import collect_states
from seqloom.nn.transformer import CrossAttention
from seqloom.prediction import TextPredictor
from seqloom.tasks import explain_text
from tests.prediction.untrained import untrained

DECODER = "decoder layer 1 forward"


@pytest.fixture(scope="module", name="transformer")
def transformer_() -> TextPredictor:
    return untrained("transformer")


@pytest.fixture(scope="module", name="lstm")
def lstm_() -> TextPredictor:
    return untrained("lstm")


def test_the_last_layer_guesses_what_the_model_says(transformer: TextPredictor) -> None:
    """Its distribution is the decoder's own, and its norm that of what the last norm reads."""
    said = explain_text(transformer, "cab", "ab")
    layers = layer_guesses(transformer, said)
    own = trace_decoder(transformer.network, said).log_probabilities
    for step, guess in enumerate(layers[-1]):
        assert guess.chosen == pytest.approx(float(own[step, said.target_ids[step]]), abs=1e-9)
        assert [each.log_probability for each in guess.best] == sorted(
            (each.log_probability for each in guess.best), reverse=True
        )
        assert guess.best[0].log_probability <= float(own[step].max()) + 1e-9
    norms = residual_norms(transformer.network, said)
    assert norms["decoder"][-1] == pytest.approx([each.norm for each in layers[-1]])
    assert norms["encoder"].shape == (1, len(said.source))


def test_a_recurrent_decoder_has_no_layers_of_blocks(lstm: TextPredictor) -> None:
    said = explain_text(lstm, "cab", "ab")
    assert layer_guesses(lstm, said) == []
    assert residual_norms(lstm.network, said) == {}


def test_the_cells_follow_from_the_gates(lstm: TextPredictor) -> None:
    """h = o ⊙ tanh c at every step (Hochreiter and Schmidhuber 1997)."""
    trace = trace_decoder(lstm.network, explain_text(lstm, "cab", "ab"))
    for unit in trace.unit_traces:
        table = unit_table(unit)
        assert set(table.states) == {"hidden", "cell"}
        np.testing.assert_allclose(
            table.states["hidden"], table.gates["output"] * np.tanh(table.states["cell"])
        )
        assert len(table.symbols) == len(table.states["hidden"])


def test_a_head_that_is_off_adds_nothing(transformer: TextPredictor) -> None:
    """As if its columns of the matrix that combines the heads were 0; the model stays as it was."""
    said = explain_text(transformer, "cab", "ab")
    before = trace_decoder(transformer.network, said).log_probabilities
    changed = switch_off(transformer.network, [HeadSwitch("cross", 1, 2)])
    reference = copy.deepcopy(transformer.network)
    ((_, cross),) = find_parts(reference.decoder, CrossAttention)
    width = cross.sizes.value
    with torch.no_grad():
        cross.combine.weight[:, width : 2 * width] = 0
    found = trace_decoder(changed, said).log_probabilities
    torch.testing.assert_close(found, trace_decoder(reference, said).log_probabilities)
    assert not torch.allclose(found, before)
    torch.testing.assert_close(trace_decoder(transformer.network, said).log_probabilities, before)


def test_a_gate_that_is_off_stays_closed(lstm: TextPredictor) -> None:
    """Without its forget gate a cell is what has just entered; of one cell, the others go on."""
    said = explain_text(lstm, "cab", "ab")
    whole = switch_off(lstm.network, [GateSwitch(DECODER, "forget")])
    one = switch_off(lstm.network, [GateSwitch(DECODER, "forget", 3)])
    plain, closed, single = (
        next(
            unit_table(each)
            for each in trace_decoder(network, said).unit_traces
            if str(each.location) == DECODER
        )
        for network in (lstm.network, whole, one)
    )
    assert np.all(closed.gates["forget"] < 1e-9)
    first = plain.gates["forget"][0].copy()
    first[3] = 0
    np.testing.assert_allclose(single.gates["forget"][0], first, atol=1e-9)
    np.testing.assert_allclose(closed.gates["input"][0], plain.gates["input"][0])


@pytest.mark.parametrize(
    "switch",
    [
        HeadSwitch("cross", 2, 1),
        HeadSwitch("cross", 1, 3),
        HeadSwitch("left", 1, 1),
        GateSwitch(DECODER, "forget"),
    ],
)
def test_parts_that_are_not_there(
    transformer: TextPredictor, switch: HeadSwitch | GateSwitch
) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        switch_off(transformer.network, [switch])


def test_what_drives_a_cell_most(lstm: TextPredictor) -> None:
    """By brute force over all items; the nearest states are those at the least distance."""
    texts = [("abc", "ab"), ("cab", "ba"), ("bca ab", "a b c")]
    traces = [trace_decoder(lstm.network, explain_text(lstm, *pair)) for pair in texts]
    found = collect_states(traces, DECODER)
    own = [each for t in traces for each in t.unit_traces if str(each.location) == DECODER]
    values = np.concatenate([each.after[0].numpy() for each in own])
    symbols = [symbol for each in own for symbol in each.symbols]
    answer = found.driven_most("hidden", 4)
    order = np.argsort(-values[:, 4], kind="stable")
    assert [each["item"] for each in answer["highest"]] == [symbols[n] for n in order[:5]]
    assert [each["value"] for each in answer["highest"]] == pytest.approx(
        values[order[:5], 4], abs=1e-6
    )
    ((place, distance), *_) = found.nearest(1)
    others = [math.dist(values[1], row) for n, row in enumerate(values) if n != 1]
    assert distance >= min(others) - 1e-6
    assert distance == pytest.approx(math.dist(values[1], values[place]), abs=1e-6)
    with pytest.raises(ConfigError, match="no cell 900"):
        found.driven_most("hidden", 900)
