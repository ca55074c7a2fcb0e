"""Lists of turns over HTTP are what they are in Python (S8)."""

from dataclasses import replace

import pytest

from seqloom.config import TurnsConfig
from seqloom.fields import TurnsField, join_turns
from seqloom.search import Greedy
from seqloom.serving import Client
from tests.prediction.untrained import untrained
from tests.serving.support import serving

HISTORY = ["ab", "c", "ba"]


def test_a_list_of_turns_is_an_input() -> None:
    """Predicted, streamed and scored as by the model itself; refused by one that reads texts."""
    texts = ["a b c ab ba abc cab x y"]
    turns = TurnsField.learn(TurnsConfig(unit="character"), texts, seed=1)
    model, plain = replace(untrained(), source=turns), untrained()
    wanted = model.predict([HISTORY, "ab"], search=Greedy())
    greedy = {"kind": "greedy"}
    with serving({"turns": model, "text": plain}) as served, Client(served.address) as client:
        found = client.predict([HISTORY, "ab"], search=greedy)
        *_, streamed = client.stream(HISTORY, search=greedy)
        body = {"pairs": [[HISTORY, "abc"]]}
        scored = served.ask("POST", "/v1/score", body).json["scores"]
        refused = served.ask("POST", "/v1/predict", {"inputs": [HISTORY], "model": "text"})
        empty = served.ask("POST", "/v1/predict", {"inputs": [[]]})
    assert [each.text for each in found] == [each.text for each in wanted]
    assert streamed == wanted[0].text
    (alone,) = model.score([(join_turns(HISTORY), "abc")])
    assert scored[0]["score"] == pytest.approx(alone.log_probability, abs=1e-6)
    assert refused.status == 422
    assert refused.error == "inputs, number 1: is not a text, which this model reads"
    assert empty.status == 422
    assert empty.error == "line 1: there is no text in the list of turns; give one turn at least"
