"""S9 for every kind of model: what mattered adds up, and every look works or says why not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.cli.commands.look import VIEWS, ViewRequest
from seqloom.drawing.views import text_of, write
from seqloom.errors import ConfigError, DataError
from seqloom.explanations.attention import attention_of
from seqloom.explanations.attribution import (
    TOLERANCE,
    ScaledVectors,
    attribution_view,
    compute_attribution,
)
from seqloom.explanations.flow import flow_of
from seqloom.explanations.instrumented_copy import instrument
from seqloom.explanations.media import (
    PictureAttributionView,
    SeriesAttributionView,
    SoundAttributionView,
)
from seqloom.explanations.prediction_steps import explain_steps
from seqloom.explanations.states import state_map
from seqloom.explanations.tracing import has_attention, trace_output
from seqloom.model.forecast import AutoregressiveForecast
from seqloom.prediction import Forecaster, HeadPredictor, TextPredictor
from seqloom.tasks import explain_output
from tests.explain.kinds import KINDS, case
from tests.explain.pictures import texts

# What each kind has nothing of; everything else is there for all.
MISSING = {
    "attention": {"label", "tags", "spelt tags", "gaps", "number", "language", "vector",
                  "linear series", "picture to label", "colour picture to label", "recurrent tags"},
    "alignment": set(KINDS) - {"ctc"},
    "flow": {"language by blocks"},
    "positions": {name for name in KINDS if "blocks" not in name and "picture" not in name},
    "tree": {name for name, kind in KINDS.items() if kind.target["kind"] != "text"},
    "igd": {name for name, kind in KINDS.items() if kind.target["kind"] != "text"},
    "steps": {"vector", "series by blocks", "series at once by blocks", "linear series",
              "picture to label", "colour picture to label"},
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_every_look_works_or_names_one_that_does(name: str, tmp_path: Path) -> None:
    """A sentence with another --show, or words, plain values and a picture."""
    model, cell = case(name, tmp_path)
    for show, look in VIEWS.items():
        rows = ((cell, None),) * (2 if show == "states" else 1)
        if name in MISSING.get(show, ()):
            with pytest.raises(ConfigError, match=r"--show \w+|the view \w+"):
                look(model, ViewRequest(rows))
            continue
        view = look(model, ViewRequest(rows))
        assert all(len(line) <= 60 for line in text_of(view, 60).splitlines())
        json.dumps(view.as_dict(), allow_nan=False)
        if show in ("gradients", "net", "steps"):
            write(view, tmp_path / "look.svg", title="")
            assert texts(tmp_path / "look.svg")


@pytest.mark.parametrize("name", KINDS)
def test_attention_is_told_without_a_pass(name: str, tmp_path: Path) -> None:
    """A model attends where a pass over an input notes a look, and only there."""
    model, cell = case(name, tmp_path)
    assert has_attention(model.network) == bool(
        attention_of(model, explain_output(model, cell)).kinds
    )


@pytest.mark.parametrize("name", KINDS)
def test_what_mattered_takes_one_pass(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention beside it is of the pass that there is."""
    made = []

    def counted(*given: Any) -> Any:
        made.append(instrument(*given))
        return made[-1]

    model, cell = case(name, tmp_path)
    monkeypatch.setattr("seqloom.explanations.tracing.instrument", counted)
    attribution_view(model, explain_output(model, cell))
    assert len(made) == 1


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_what_small_changes_do(name: str, tmp_path: Path) -> None:
    """v · ∂f/∂v is the slope of f as a part is scaled; together the slopes of all parts at once."""
    model, cell = case(name, tmp_path)
    said = explain_output(model, cell)
    network = model.network.double()
    vectors = ScaledVectors(network, said)
    found = vectors.gradients(np.ones(1), np.ones(1))
    step, some = 1e-5, np.linspace(0, vectors.length - 1, min(9, vectors.length)).astype(int)
    moved = np.ones((2 * len(some), vectors.length))
    moved[np.arange(len(some)), some] += step
    moved[len(some) + np.arange(len(some)), some] -= step
    more, less = vectors.scores(torch.from_numpy(moved)).numpy().reshape(2, len(some), -1)
    np.testing.assert_allclose(found[:, some], ((more - less) / (2 * step)).T, atol=1e-6)


@pytest.mark.parametrize("name", ["label by blocks", "spelt tags", "number", "series", "picture"])
def test_integrated_gradients_add_up(name: str, tmp_path: Path) -> None:
    """Over all parts they are what is said with them minus what is said without them."""
    model, cell = case(name, tmp_path)
    found = compute_attribution(model.network, explain_output(model, cell))
    whole = np.abs(found.scores - found.baseline_scores).max()
    assert found.points == 256 or np.abs(found.convergence_delta).max() <= TOLERANCE * whole


def test_what_is_explained_is_what_predict_says(tmp_path: Path) -> None:
    """Log-probabilities of labels, numbers in their own units, means of forecasts."""
    for name in ("label", "tags", "gaps", "gaps by blocks", "number", "series"):
        model, cell = case(name, tmp_path)
        explained = compute_attribution(model.network, explain_output(model, cell)).scores
        output = model.predict([cell])[0]
        if isinstance(model, Forecaster):
            steps = [[float(x) for x in step.split()] for step in output.text.split(";")]
            np.testing.assert_allclose(explained, np.mean(steps, axis=0), rtol=1e-4)
        elif name == "number":
            assert explained[0] == pytest.approx(float(output.text), rel=1e-4)
        else:
            own = [token.log_probability for token in output.tokens]
            np.testing.assert_allclose(explained, own, atol=1e-5)


def test_what_flows_back_is_from_what_predict_says(tmp_path: Path) -> None:
    """The cost is the mean of −log p over labels, tags and gaps, in a batch as alone."""
    for name in ("label", "tags", "gaps", "gaps by blocks"):
        model, cell = case(name, tmp_path)
        cells = [cell, "b ___ d d" if "gaps" in name else "b d a c"]
        outputs = model.predict(cells)
        costs = [-np.mean([token.log_probability for token in each.tokens]) for each in outputs]
        found = flow_of(model, [explain_output(model, each) for each in cells]).gradients.costs
        np.testing.assert_allclose(found, costs, atol=1e-5)


def test_a_text_with_gaps_is_read_with_its_gaps(tmp_path: Path) -> None:
    """Marked, filled in by the likeliest tokens, and refused where there is none."""
    model, cell = case("gaps", tmp_path)
    said = explain_output(model, cell)
    assert [*said.source] == ["a", "___", "c", "___", "<end>"]
    assert [*said.target] == [token.text for token in model.predict([cell])[0].tokens]
    assert [step.read for step in explain_steps(model, explain_output(model, cell)).steps] == [
        "___",
        "___",
    ]
    with pytest.raises(DataError, match="there is no blank to fill in"):
        explain_output(model, "a b")
    with pytest.raises(DataError, match="no gap is among the first 256 tokens"):
        explain_output(model, "a " * 256 + "___")


def test_erasing_a_number_is_reading_its_mean(tmp_path: Path) -> None:
    """The second of three numbers, whose mean in the data is 1."""
    model, _ = case("vector", tmp_path)
    assert isinstance(model, HeadPredictor)
    found = compute_attribution(model.network, explain_output(model, "1 2 3", "yes"))
    before, after = model.score([("1 2 3", "yes"), ("1 1 3", "yes")])
    lost = before.log_probability - after.log_probability
    assert found.erasure[0, 1] == pytest.approx(lost, abs=1e-5)


def test_what_mattered_is_drawn_over_what_was_read(tmp_path: Path) -> None:
    """Each kind has a picture of its own, with every look named in it."""
    for name, kind in (
        ("picture", PictureAttributionView),
        ("sound", SoundAttributionView),
        ("series", SeriesAttributionView),
    ):
        model, cell = case(name, tmp_path)
        found = attribution_view(model, explain_output(model, cell))
        assert isinstance(found, kind)
        write(found, tmp_path / "look.svg", title="")
        assert {"gradient × input", "integrated gradients", "erasure"} <= {
            *texts(tmp_path / "look.svg")
        }
    assert "output before" in "".join(texts(tmp_path / "look.svg")) or name == "series"


@torch.no_grad()
def test_a_forecaster_is_seen_while_it_looks_at_its_past(tmp_path: Path) -> None:
    """The weights are those of its decoder, given its own forecast at once."""
    model, cell = case("series by blocks", tmp_path)
    assert isinstance(model, Forecaster)
    head = model.network.head
    assert isinstance(head, AutoregressiveForecast)
    memory = model.network.encoder.encode(explain_output(model, cell).source_batch())
    assert memory.past is not None
    ahead = head(memory).unflatten(2, (2, -1))[..., 0] - memory.past.last[:, None]
    fed = head.vectors(torch.cat([torch.zeros_like(ahead[:, :1]), ahead[:, :-1]], dim=1))
    start = head.decoder.start(memory, trace=True)
    features, _ = head.decoder.read_vectors(fed, start)
    assert features.attention is not None
    found = attention_of(model, explain_output(model, cell)).select_map("cross")
    np.testing.assert_allclose(found.weights, features.attention[0], atol=1e-5)
    assert [*found.target] == ["+1", "+2", "+3"]


def test_steps_have_the_names_of_what_was_read(tmp_path: Path) -> None:
    """Back to front, the last value of a series comes first: there is no `<end>` to stay behind."""
    for name, step in (("series", 1), ("series backwards", -1)):
        model, cell = case(name, tmp_path)
        said = explain_output(model, cell)
        first = trace_output(model.network, said).unit_traces[0]
        assert str(first.location) == "encoder layer 1 forward"
        assert first.symbols == said.source[::step]


def test_a_label_is_followed_item_by_item(tmp_path: Path) -> None:
    """Each step says what the model would say of the input up to there."""
    model, cell = case("label", tmp_path)
    parts = ["a", "a b", "a b c"]
    found = explain_steps(model, explain_output(model, cell))
    assert [step.wrote for step in found.steps] == [each.text for each in model.predict(parts)]
    assert text_of(found).startswith("step 1: reads a, says ")
    assert {layer.place for layer in found.steps[0].layers} == {
        "layer 1 forward", "layer 1 backward",
    }  # fmt: skip


def test_a_language_model_is_seen_while_it_reads(tmp_path: Path) -> None:
    """Steps and states are of the text that is given; there is no other output."""
    model, cell = case("language", tmp_path)
    assert isinstance(model, TextPredictor)
    found = explain_steps(model, explain_output(model, cell))
    (scored,) = model.score([("", cell)])
    assert sum(step.log_probability or 0 for step in found.steps) == pytest.approx(
        scored.log_probability, abs=1e-5
    )
    assert state_map(model, [("a b", None), ("c", None)]).states.shape == (2, 8)
    with pytest.raises(ConfigError, match="leave output= out"):
        explain_steps(model, explain_output(model, cell, "b"))
