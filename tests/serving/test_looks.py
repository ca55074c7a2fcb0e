"""What HTTP shows of an output is what `look` computes for it (S8, S9)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.errors import SeqloomError
from seqloom.explain import architecture_graph, text_of, trace_output, unroll_graph
from seqloom.explanations.attention import attention_of
from seqloom.explanations.attribution import compute_attribution
from seqloom.explanations.prediction_steps import explain_steps
from seqloom.explanations.switches import HeadSwitch, switch_off
from seqloom.prediction import Predictor, TextPredictor
from seqloom.tasks import explain_output
from tests.prediction.untrained import untrained
from tests.runs.finished import make_run
from tests.serving.kinds import made
from tests.serving.support import Served, serving

TOKENS = ["a", "b", "<end>"]


@pytest.fixture(scope="module", name="models")
def models_() -> dict[str, Predictor]:
    return {"first": untrained("transformer"), "lstm": untrained("lstm"), "mood": made("mood")}


@pytest.fixture(scope="module", name="server")
def server_(models: dict[str, Predictor]) -> Iterator[Served]:
    with serving(models) as server:
        yield server


def look(server: Served, **asked: Any) -> dict[str, Any]:
    answer = server.ask("POST", "/v1/look", {"input": "cab", **asked})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json["look"]
    return found


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_every_layer_and_head(server: Served, models: dict[str, Predictor], kind: str) -> None:
    """One head, the mean and the maximum of all are those of the weights that a trace has."""
    every = attention_of(models["first"], explain_output(models["first"], "cab", "ab"))
    (layer,) = every.select_layers(kind)
    asked = {"tokens": TOKENS, "of": kind}
    for more, weights in (
        ({}, layer.weights.mean(axis=0)),
        ({"pool": "max"}, layer.weights.max(axis=0)),
        ({"head": 2}, layer.weights[1]),
    ):
        found = look(server, **asked, **more)
        np.testing.assert_allclose(found["weights"], weights, atol=1e-6)
        assert (found["rows"], found["columns"]) == (list(layer.rows), list(layer.columns))
    assert {each["of"] for each in found["choices"]} == {"cross", "encoder", "decoder"}


@pytest.mark.parametrize("method", ["gradient", "integrated", "erasure"])
def test_each_attribution(server: Served, models: dict[str, Predictor], method: str) -> None:
    for name in ("first", "lstm"):
        model = models[name]
        whole = compute_attribution(model.network, explain_output(model, "cab", "ab"))
        found = look(server, model=name, tokens=TOKENS, show="attribution", method=method)
        np.testing.assert_allclose(found["weights"], getattr(whole, method), atol=1e-5)
        assert found["inputs"] == ["<start>", "a", "b"]


def test_the_client_sees_the_same(server: Served) -> None:
    with seqloom.Client(server.address) as client:
        assert client.look("cab", tokens=TOKENS, head=2) == look(server, tokens=TOKENS, head=2)
        with pytest.raises(SeqloomError, match="no head 9"):
            client.look("cab", head=9)


def test_a_label_is_explained_too(server: Served) -> None:
    found = look(server, model="mood", input="red Zebra sun", show="attribution")
    assert found["source"] == ["red", "Zebra", "sun", "<end>"], "as it was written"
    assert np.shape(found["weights"]) == (1, 4)


def test_the_output_is_the_models_own_unless_one_is_given(
    server: Served, models: dict[str, Predictor]
) -> None:
    model = models["first"]
    assert isinstance(model, TextPredictor)
    (own,) = model.predict(["cab"])
    assert look(server)["rows"] == [token.text for token in own.tokens]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"tokens": ["?"]}, 422, "tokens, number 1: the model has no such token"),
        ({"layer": 7}, 422, "there is no layer 7"),
        ({"head": 7}, 422, "no head 7"),
        ({"of": "left"}, 422, "choose cross, encoder, decoder"),
        ({"model": "nobody"}, 404, "there is none of that name"),
        ({"input": ""}, 422, "blank"),
        ({"model": "mood", "tokens": ["a"]}, 422, "writes no text"),
        ({"input": {"base64": "AA=="}}, 422, "is not a text"),
        ({"show": "tree"}, 422, "show"),
    ],
)
def test_what_cannot_be_seen(
    server: Served, asked: dict[str, Any], status: int, words: str
) -> None:
    answer = server.ask("POST", "/v1/look", {"input": "cab", **asked})
    assert answer.status == status
    assert words in answer.error


def test_looks_are_bounded(models: dict[str, Predictor]) -> None:
    """Integrated gradients read an input often, which is counted before it is begun."""
    with serving(models, work=2_000) as server:
        body = {"input": "cab", "tokens": TOKENS, "show": "attribution"}
        assert server.ask("POST", "/v1/look", body).status == 200
        refused = server.ask("POST", "/v1/look", {**body, "method": "integrated"})
        assert refused.status == 422
        assert "work" in refused.error
        counts = server.outcomes()
        assert counts["received"] == counts["accepted"] + counts["refused"] == 2


@pytest.mark.parametrize("name", ["first", "lstm"])
def test_each_step(server: Served, models: dict[str, Predictor], name: str) -> None:
    """The steps are those of `look --show steps`, with the cells of a unit or the layers."""
    model = models[name]
    found = look(server, model=name, tokens=TOKENS, show="steps")
    steps = explain_steps(model, explain_output(model, "cab", "ab"))
    assert [each["wrote"] for each in found["steps"]] == TOKENS
    assert [each["log_probability"] for each in found["steps"]] == pytest.approx(
        [each.log_probability for each in steps.steps]
    )
    if name == "first":
        assert (found["units"], found["unit"]) == ([], None)
        assert np.shape(found["norms"]["decoder"]) == (1, 3)
        assert len(found["guesses"][0]) == 3
    else:
        assert found["guesses"] == []
        at = "encoder layer 1 backward"
        unit = look(server, model=name, tokens=TOKENS, show="steps", at=at)["unit"]
        assert unit["symbols"] == ["<end>", "b", "a", "c"]
        assert np.shape(unit["states"]["cell"]) == (4, 6)


def test_what_follows_when_a_part_is_off(server: Served, models: dict[str, Predictor]) -> None:
    """The output of the changed model, while the served one stays as it is."""
    before = server.predict("cab").json["outputs"]
    off = [{"of": "cross", "layer": 1, "head": 1}, {"of": "cross", "layer": 1, "head": 2}]
    found = look(server, show="steps", off=off)
    model = models["first"]
    assert isinstance(model, TextPredictor)
    network = switch_off(model.network, [HeadSwitch("cross", 1, n) for n in (1, 2)])
    (other,) = replace(model, weights=network, engine=None).predict(["cab"])
    assert found["follows"]["text"] == other.text
    assert server.predict("cab").json["outputs"] == before
    refused = server.ask("POST", "/v1/look", {"input": "a", "show": "steps", "off": [{"head": 9}]})
    assert "there is no head 9" in refused.error


def test_held_out_inputs_that_drive_a_cell(
    tmp_path_factory: pytest.TempPathFactory, server: Served
) -> None:
    run = seqloom.load(make_run(tmp_path_factory.mktemp("unit"), "lstm"))
    with serving({"run": run}) as served:
        found = look(served, show="unit", at="decoder layer 1 forward", cell=1)
        again = look(served, show="unit", at="decoder layer 1 forward", cell=1)
        values = [each["value"] for each in found["highest"]]
        assert values == sorted(values, reverse=True)
        assert found == again
        assert found["items"] >= len(found["highest"]) == len(found["lowest"])
    answer = server.ask("POST", "/v1/look", {"input": "a", "show": "unit", "model": "lstm"})
    assert answer.status == 422
    assert "no held-out rows" in answer.error


@pytest.mark.parametrize("name", ["lstm", "mood"])
def test_the_net_is_that_of_look(server: Served, models: dict[str, Predictor], name: str) -> None:
    """S9: unrolled over the output, and as a whole, with a box for each node and the same edges."""
    found = look(server, model=name, input="cab", show="net")
    network = models[name].network
    explained = explain_output(models[name], "cab")
    unrolled = unroll_graph(network, trace_output(network, explained))
    for shown, net in (("unrolled", unrolled), ("whole", architecture_graph(network))):
        drawn = found[shown]
        assert drawn["text"] == text_of(net)
        assert [each["label"] for each in drawn["boxes"]] == [each.label for each in net.nodes]
        numbers = {node.name: number for number, node in enumerate(net.nodes)}
        assert [(each["begin"], each["end"], each["kind"]) for each in drawn["arrows"]] == [
            (numbers[edge.begin], numbers[edge.end], edge.kind) for edge in net.edges
        ]
        width, height = drawn["size"]
        corners = [
            float(each)
            for arrow in drawn["arrows"]
            for each in re.findall(r"(-?[\d.]+) -?[\d.]+", arrow["path"])
        ]
        assert 0 <= min(corners) <= max(corners) <= width
        assert all(0 < y < height for _, y in (each["at"] for each in drawn["boxes"]))


def test_the_net_tells_what_is_off(server: Served) -> None:
    """Of an attention whose heads are all off no edge counts, and its boxes say so; of a long
    output the step that is asked for is there."""
    off = [{"of": "cross", "layer": 1, "head": head} for head in (1, 2)]
    found = look(server, show="net", tokens=TOKENS, off=off)["unrolled"]
    assert {each["counts"] for each in found["arrows"] if each["kind"] == "attention"} == {False}
    told = [each for each in found["boxes"] if each["off"]]
    assert {each["off"] for each in told} == {"head 1, head 2 off"}
    assert [step for each in told for _, step in each["steps"]] == [0, 1, 2]
    tokens = [*("ab" * 9), "<end>"]
    long = look(server, show="net", tokens=tokens, step=9)["unrolled"]
    assert ["decoder", 9] in [step for each in long["boxes"] for step in each["steps"]]
