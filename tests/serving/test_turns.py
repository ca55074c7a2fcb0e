"""Lists of turns over HTTP are what they are in Python (S8)."""

from dataclasses import replace
from typing import Any

import pytest

from seqloom.config import ColumnsConfig, TurnsConfig
from seqloom.errors import DataError
from seqloom.fields import ColumnsField, TurnsField, join_turns
from seqloom.search import Greedy
from seqloom.serving import Client
from tests.prediction.untrained import untrained
from tests.serving.support import serving

HISTORY = ["ab", "c", "ba"]


def test_a_list_of_turns_is_an_input() -> None:
    """Predicted, streamed and scored as by the model itself; refused by one that reads texts."""
    texts = ["a b c ab ba abc cab x y"]
    turns, plain = TurnsField.learn(TurnsConfig(unit="character"), texts, seed=1), untrained()
    data = plain.config.data.model_copy(update={"turns": True})
    model = replace(plain, source=turns, config=plain.config.model_copy(update={"data": data}))
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


def test_columns_are_sent_by_their_names() -> None:
    """As an object, a list or a text with tabs; what the run does not read is refused."""
    units = ColumnsConfig(units=("character", "feature"))
    field = ColumnsField.learn(units, ['["ab", "V;PST"]'], seed=1)
    plain = untrained()
    chosen = {"source": "lemma,features", "target": "form", "columns": True}
    data = plain.config.data.model_copy(update=chosen)
    model = replace(plain, source=field, config=plain.config.model_copy(update={"data": data}))
    row = {"lemma": "ab", "features": "V;PST"}
    forms: list[Any] = [row, ["ab", "V;PST"], "ab\tV;PST", {**row, "form": "ba"}]
    wanted = model(("ab", "V;PST")).text
    with serving({"columns": model}) as served, Client(served.address) as client:
        assert [output.text for output in client.predict(forms)] == [wanted] * 4
        (scored,) = client.score([(row, "ab")])
        assert scored.log_probability == pytest.approx(
            model.score([(row, "ab")])[0].log_probability
        )
        assert client.models()[0]["source"]["columns"] == ["lemma", "features"]
        for given, sentence in (
            ({"lemma": "ab"}, "inputs, number 1: there is no column 'features'"),
            ({**row, "id": "7"}, "there is a column 'id', which the run does not read"),
            ("ab", "has 1 column, and the run reads columns lemma, features"),
        ):
            with pytest.raises(DataError, match=sentence):
                client.predict([given])
