"""What HTTP shows of an output is what `look` computes for it (S8, S9)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from seqloom.explanations.attention import attention_of
from seqloom.explanations.attribution import compute_attribution
from seqloom.prediction import Predictor, TextPredictor
from seqloom.tasks import explain_output
from tests.prediction.untrained import untrained
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
