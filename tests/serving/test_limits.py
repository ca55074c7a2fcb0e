"""RELIABILITY D4: whatever is too large is refused before the model, and the limit is named."""

from dataclasses import replace
from typing import Any

import pytest

from tests.serving.kinds import HORIZON, WINDOW, made, series
from tests.serving.support import serving
from tests.serving.wrapped import slow

pytestmark = pytest.mark.faults

HUGE = 2**31 - 1
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("inputs", {"inputs": ["a"] * 65}),
    ("inputs", {"inputs": []}),
    ("characters", {"inputs": ["a" * 5_001]}),
    ("n_best", {"n_best": 65}),
    ("n_best", {"n_best": HUGE}),
    ("n_best", {"n_best": 0}),
    ("n_best", {"n_best": -1}),
    ("n_best", {"n_best": 10**30}),
    ("width", {"search": {"kind": "beam", "width": 65}}),
    ("width", {"search": {"kind": "beam", "width": HUGE}}),
    ("width", {"search": {"kind": "beam", "width": 0}}),
    ("width", {"search": {"kind": "diverse", "width": HUGE, "groups": 1}}),
    ("groups", {"search": {"kind": "diverse", "groups": HUGE}}),
    ("paths", {"search": {"kind": "diverse", "width": 10, "groups": 4}}),
    ("width", {"search": {"kind": "stochastic", "width": HUGE}}),
    ("draws", {"search": {"kind": "sample", "draws": HUGE}}),
    ("draws", {"search": {"kind": "risk", "draws": 65}}),
    ("draws", {"search": {"kind": "risk", "draws": 1}}),
    ("count", {"search": {"kind": "completions", "count": HUGE}}),
    ("paths", {"search": {"kind": "completions", "count": 60, "width": 60}}),
    ("expansions", {"search": {"kind": "exact", "expansions": 10_001}}),
    ("temperature", {"search": {"kind": "sample", "temperature": 0}}),
    ("temperature", {"search": {"kind": "sample", "temperature": 1e300}}),
    ("top_p", {"search": {"kind": "sample", "top_p": 1.5}}),
    ("alternatives", {"alternatives": 51}),
    ("alternatives", {"alternatives": HUGE}),
    ("require", {"require": ["a"] * 21}),
    ("forbid", {"forbid": ["a"] * 21}),
    ("forbid", {"forbid": ["a" * 5_001]}),
    ("prefix", {"prefix": "a" * 5_001}),
    ("prefix", {"prefix": ["a", "b"]}),
    ("no_repeat", {"no_repeat": HUGE}),
    ("work", {"inputs": ["a" * 200] * 64, "search": {"kind": "beam", "width": 64}}),
    ("model", {"model": "nobody"}),
    ("colour", {"colour": "red"}),
    ("kind", {"search": {"kind": "magic"}}),
    ("search", {"search": {"width": 5}}),
]


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/stream"])
def test_all_of_them_are_refused_before_the_model(path: str) -> None:
    """Each with its status and a sentence that says which; no step is made, nothing is queued."""
    model, decoder = slow(0.0)
    data = model.config.data.model_copy(update={"max_source": 200})
    model = replace(model, config=model.config.model_copy(update={"data": data}))
    with serving({"only": model}) as served:
        made = decoder.steps
        for name, request in REFUSED:
            answer = served.ask("POST", path, {"inputs": ["abc"], **request})
            assert answer.status == (404 if name == "model" else 422), (request, answer.body)
            assert name in answer.error, (request, answer.error)
            assert " --" not in answer.error, answer.error
        assert decoder.steps == made
        counts = served.outcomes()
        assert (counts["received"], counts["refused"]) == (len(REFUSED), len(REFUSED))
        assert counts["accepted"] == 0
        assert served.predict("abc").status == 200


def test_forecasts_are_bounded_by_what_is_read() -> None:
    """A window for every horizon of each series."""
    steps, windows = 2 * HORIZON + 1, 3
    with serving({"load": made("load")}, work=2 * windows * WINDOW) as served:
        given = {"series": series(), "steps": steps}
        assert served.ask("POST", "/v1/predict", {"inputs": [given] * 2}).status == 200
        answer = served.ask("POST", "/v1/predict", {"inputs": [given] * 3})
        assert answer.status == 422
        assert f"{3 * windows * WINDOW} positions would be read" in answer.error
        assert "server's work" in answer.error
        assert "fewer steps" in answer.error
        assert served.outcomes()["accepted"] == 1


def test_pairs_are_bounded_too() -> None:
    model, _ = slow(0.0)
    with serving({"only": model}) as served:
        for pairs in ([], [["a", "b"]] * 65, [["a"]], [["a", "b", "c"]], [["a", "b" * 5_001]]):
            answer = served.ask("POST", "/v1/score", {"pairs": pairs})
            assert (answer.status, "pairs" in answer.error or "inputs" in answer.error) == (
                422,
                True,
            )


@pytest.mark.parametrize(
    ("name", "pair", "positions"),
    [
        ("gaps", ["old red moon"] * 2, 4),
        ("hiding", ["old red moon"] * 2, 4 * 4),
        ("named", ["cold", "ab cd"], 6),
        ("tale", ["", "ab cd"], 6),
    ],
)
def test_scoring_is_bounded_by_what_is_read(name: str, pair: list[str], positions: int) -> None:
    """Every token and `<end>`, once; a text whose tokens are hidden in turn, for each of them."""
    with serving({name: made(name)}, work=2 * positions) as served:
        assert served.ask("POST", "/v1/score", {"pairs": [pair] * 2}).status == 200
        answer = served.ask("POST", "/v1/score", {"pairs": [pair] * 3})
        assert answer.status == 422
        assert f"pairs: {3 * positions} positions would be read" in answer.error
        assert "server's work" in answer.error
        assert "fewer pairs" in answer.error
        assert served.outcomes()["accepted"] == 1


def test_long_outputs_are_more_work_than_many_short_ones() -> None:
    """With the limits as they are, where each output alone is within them."""
    model, _ = slow(0.0)
    with serving({"only": model}) as served:
        for length, status in ((200, 200), (5_000, 422)):
            pairs = [["abc", "a" * length]] * 64
            assert served.ask("POST", "/v1/score", {"pairs": pairs}).status == status


def test_a_body_without_end_is_refused_at_the_limit() -> None:
    model, _ = slow(0.0)
    with serving({"only": model}, body=10_000) as served:
        answer = served.ask("POST", "/v1/predict", b'{"inputs":["' + b"a" * 20_000)
        assert (answer.status, "body" in answer.error) == (413, True)
