"""A served model is replaced by what its run holds now, and nobody who asks notices."""

import asyncio
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from seqloom.errors import ConfigError
from seqloom.prediction import Predictor, TextPredictor
from seqloom.scheduling.templates import Loader, ProcessTemplate
from seqloom.search import Beam
from seqloom.serving.models.reloading import reload_model
from seqloom.serving.models.stored import ModelFacts, StoredModel
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.support import Served, exists, processes_of, serving, until

OLD = untrained("transformer")
BEAM = {"kind": "beam", "width": 3}


def trained_further() -> TextPredictor:
    """The same model with other weights."""
    return untrained("transformer", seed=2)


def texts(served: Served) -> list[str]:
    answer = served.predict(*SOURCES, search=BEAM)
    assert answer.status == 200, answer.body
    return [each["text"] for each in answer.json["outputs"]]


@pytest.mark.parametrize("forks", [True, False], ids=["processes", "threads"])
def test_no_request_fails_while_a_model_is_replaced(forks: bool) -> None:
    """Each is answered as the old model would or the new; afterwards, all as the new one."""
    loaders: dict[str, Callable[[], TextPredictor]] = {"model": trained_further}
    template = ProcessTemplate({"model": OLD}, loaders) if forks else None
    before, after = (
        [each.text for each in model.predict(SOURCES, search=Beam(3))]
        for model in (OLD, trained_further())
    )
    assert before != after
    answers: list[list[str]] = []
    with serving({"model": OLD}, template=template) as served:
        first = processes_of(served)
        ended = threading.Event()

        def ask() -> None:
            while not ended.is_set():
                answers.append(texts(served))

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for each in asking:
            each.start()
        until(lambda: len(answers) > 3)
        reload_model(served.service, "model", trained_further)
        until(lambda: after in answers)
        ended.set()
        for each in asking:
            each.join()
        assert [answer for answer in answers if answer not in (before, after)] == []
        until(lambda: not set(first) & set(processes_of(served)))
        assert texts(served) == after
        assert not any(map(exists, first))
        assert served.outcomes()["failed"] == 0


def test_a_model_with_other_symbols_is_not_taken() -> None:
    """Requests that wait have been read by the old one's vocabulary."""
    with serving({"model": OLD}) as served:
        before = texts(served)
        with pytest.raises(ConfigError, match="other symbols"):
            reload_model(
                served.service, "model", partial(untrained, "transformer", texts=["a b c z"])
            )
        assert texts(served) == before


class Forgetting(dict[str, Any]):
    """Whatever is kept in it is dropped at once, as by a model that comes at that moment."""

    def __setitem__(self, name: str, value: Any) -> None:
        pass


def test_tokens_are_known_while_a_model_is_replaced() -> None:
    with serving({"model": OLD}) as served:
        served.service._names = Forgetting()
        answer = served.predict("abc", prefix_tokens=["a"])
        assert answer.status == 200, answer.body


def damaged() -> TextPredictor:
    raise ValueError("bytes that are no weights")


@pytest.mark.parametrize("on_demand", [False, True])
def test_a_model_that_cannot_be_loaded_stays_alone(
    on_demand: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever its error is, the log names it, and the models after it are loaded anew."""
    loaders: dict[str, Loader] = {"broken": damaged, "model": trained_further}
    models: dict[str, Predictor] = dict.fromkeys(loaders, OLD)
    stored: dict[str, StoredModel] = {}
    template: ProcessTemplate | None = None
    if on_demand:
        template = ProcessTemplate({}, loaders)
        facts = ModelFacts({}, (), reads_files=False, bytes=1)
        stored, models = {name: StoredModel(lambda: OLD, facts) for name in loaders}, {}
    with serving(models, template=template, stored=stored, memory=10**9 * on_demand) as served:
        served.server.loaders = loaders
        asyncio.run(served.server.reload())
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    found = [(each["event"], each["model"]) for each in told if "reloaded" in each["event"]]
    assert found == [("not reloaded", "broken"), ("reloaded", "model")]
    assert "ValueError" in str(told)
