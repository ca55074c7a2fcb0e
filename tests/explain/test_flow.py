"""S6.8, S9: gates over time rebuild the states they made; half-lives in closed form."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.drawing.views import text_of, write
from seqloom.errors import DataError
from seqloom.explanations.flow import UnitGates, collect_gates, compute_gates, flow_of
from seqloom.explanations.instrumented_copy import UnitLocation
from seqloom.explanations.tracing import UnitTrace, trace_output
from seqloom.nn.units import Elman, Gru, Lstm, Ssru
from seqloom.tasks import explain_output
from tests.explain.pictures import texts
from tests.explain.tiny_models import PAIR, named
from tests.prediction.untrained import untrained

KINDS = [
    "lstm form e",
    "deep both",
    "normed backward",
    "gru form a",
    "gru-take form everything",
    "gru-after form d",
    "gru-after-take form b",
    "ssru appended",
    "lstm reads and writes",
]


def rebuilt(stretch: UnitTrace) -> torch.Tensor:
    """The state after each step, from the gates and the one before, as S2 writes it."""
    unit, x, before = stretch.unit, stretch.inputs, stretch.before
    gates = {name: torch.from_numpy(table) for name, table in compute_gates(stretch).items()}
    width = unit.width
    match unit:
        case Lstm():
            candidate = (unit.project(x) + before[0] @ unit.recur.t())[:, 3 * width :].tanh()
            cell = gates["forget"] * before[1] + gates["input"] * candidate
            states = [gates["output"] * cell.tanh(), cell]
        case Gru():
            entering, recur = unit.project(x)[:, 2 * width :], unit.recur[2 * width :].t()
            reset = gates["reset"]
            product = (reset * before[0]) @ recur
            if unit.reset == "after":
                product = reset * (before[0] @ recur)
            kept = gates["update"] if unit.keep else 1 - gates["update"]
            states = [kept * before[0] + (1 - kept) * (entering + product).tanh()]
        case Ssru():
            entering = x @ unit.project.weight[width:].t()
            states = [gates["forget"] * before[0] + (1 - gates["forget"]) * entering]
        case _:
            states = []
    return torch.stack(states)


@pytest.mark.parametrize("kind", KINDS)
def test_gates_make_the_states(kind: str) -> None:
    """S2.3, S2.4: what the gates let through is the state that the unit came to."""
    stretches = trace_output(named(kind), PAIR).unit_traces
    assert stretches
    for stretch in stretches:
        with torch.no_grad():
            torch.testing.assert_close(
                rebuilt(stretch), torch.stack(stretch.after), rtol=0, atol=1e-12
            )
        assert len(stretch.symbols) == len(stretch.inputs)


def test_each_step_goes_on_from_the_one_before() -> None:
    """A state after a step is the state before the next, in the order of reading."""
    for stretch in trace_output(named("additive local-bell previous-fed"), PAIR).unit_traces:
        for before, after in zip(stretch.before, stretch.after, strict=True):
            torch.testing.assert_close(before[1:], after[:-1], rtol=0, atol=0)


def test_an_elman_unit_has_no_gates() -> None:
    found = trace_output(named("elman form a"), PAIR)
    assert all(isinstance(stretch.unit, Elman) for stretch in found.unit_traces)
    assert collect_gates([found]) == ()


def test_half_lives_in_closed_form() -> None:
    """A share of 2^(−1/7) is a half after seven steps; one of 1 never is."""
    kept = np.tile([0.5, 2 ** (-1 / 7), 1.0], (4, 1))
    unit = UnitGates(
        UnitLocation("encoder", 1, "forward"), (("a",) * 4,), {"forget": (kept,)}, (kept,)
    )
    np.testing.assert_allclose(unit.half_lives()[:2], [1, 7])
    assert unit.longest_lived(2) == [(2, math.inf), (1, pytest.approx(7))]
    np.testing.assert_allclose(unit.means()["forget"], kept[0])
    assert unit.as_dict()["half_lives"] == [1.0, 7.0, None]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_flow_in_words_numbers_and_pictures(kind: str, tmp_path: Path) -> None:
    """Radii and gates where there are units, the states handed over where there are none."""
    model = untrained(kind)
    rows = (("abc", None), ("cab ab", "ab"))
    flow = flow_of(model, [explain_output(model, *row) for row in rows])
    assert (kind == "lstm") == bool(flow.gates) == ("spectral radius" in text_of(flow))
    assert "handed on by the encoder" in text_of(flow)
    json.dumps(flow.as_dict(), allow_nan=False)
    write(flow, tmp_path / "flow.svg", title="")
    assert set(texts(tmp_path / "flow.svg")) >= {"a", "b", "c", "<end>", "size of ∂C/∂h"}


def test_no_input_is_refused() -> None:
    with pytest.raises(DataError, match="at least one input"):
        flow_of(untrained(), [])
