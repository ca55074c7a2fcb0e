"""A served model is replaced by what its run holds now, and nobody who asks notices."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from seqloom.errors import ConfigError
from seqloom.prediction import TextPredictor
from seqloom.scheduling.processes import ProcessTemplate
from seqloom.search import Beam
from seqloom.serving.reloading import reload_model
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
