"""One declaration of a search reaches every front end, and so does one from outside."""

from typing import Any

import pytest
from pydantic import ValidationError

from seqloom.cli.search_options import SearchOptions
from seqloom.config import Config, dump, parse, validate
from seqloom.errors import ConfigError
from seqloom.prediction.configured_search import build_search, search_from_config
from seqloom.search import SEARCHES, Beam, Greedy, Ranking, Sample, search_rows
from seqloom.serving.limits import ServingConfig
from seqloom.serving.requests import describe_searches, predict_request_model

OPTIONS = {kind: {option.name: option for option in search.options()} for kind, search in SEARCHES}


def schema_options(kind: str) -> dict[str, Any]:
    schema = predict_request_model().model_json_schema()
    for part in schema["$defs"].values():
        if part["properties"].get("kind", {}).get("const") == kind:
            return {name: each for name, each in part["properties"].items() if name != "kind"}
    return {}


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_front_end_lists_the_same_options(kind: str) -> None:
    """The schema of requests, the chooser, the command line and the manual."""
    names = set(OPTIONS[kind])
    assert set(schema_options(kind)) == names
    (shown,) = [each for each in describe_searches(ServingConfig()) if each["kind"] == kind]
    assert {each["name"] for each in shown["options"]} == names
    assert {row.name for row in search_rows() if row.kind == kind} - {""} == names
    flags = {each.name for each in SearchOptions.parameters()}
    expected = {each.flag[2:].replace("-", "_") for each in OPTIONS[kind].values()}
    assert {f"search_{flag}" for flag in expected} <= flags


@pytest.mark.parametrize("kind", OPTIONS)
def test_defaults_are_within_their_bounds(kind: str) -> None:
    """Every search can be built of its defaults, and each default passes the request's check."""
    config = Config().search
    assert build_search(kind, {}, config, n_best=1).paths >= 1
    usual = {n: o.default for n, o in OPTIONS[kind].items() if o.default is not None}
    body = {"inputs": ["a"], "search": {"kind": kind, **usual}}
    asked = predict_request_model().model_validate(body)
    assert asked.search is not None
    assert asked.search.given == usual


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in OPTIONS.items() for name in known]
)
def test_a_value_beyond_a_bound_is_refused_in_requests_and_configurations(
    kind: str, name: str
) -> None:
    option = OPTIONS[kind][name]
    low = option.gt if option.ge is None else option.ge
    for wrong in ([] if low is None else [low - 1]) + [option.most * 2 + 1]:
        table = {"kind": kind, name: option.type(wrong)}
        with pytest.raises(ValidationError, match=name):
            predict_request_model().model_validate({"inputs": ["a"], "search": table})
        with pytest.raises(ConfigError, match=name):
            validate({"search": {"method": table}}, place="test")


def test_a_run_may_name_its_search() -> None:
    """With its options, from TOML and back; what is not said follows from the run."""
    config = validate({"search": {"method": {"kind": "sample", "temperature": 0.5}}}, place="test")
    again = validate(parse(dump(config), place="test"), place="test")
    assert again == config
    assert search_from_config(again.search, 3) == Sample(temperature=0.5, draws=3)
    assert search_from_config(Config().search, 1) == Beam(5, Ranking(power=1.0))
    narrow = validate({"search": {"beam": 1}}, place="test")
    assert search_from_config(narrow.search, 1) == Greedy()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("annealing", "choose one of greedy, beam"),
        ({"kind": "beam", "widht": 3}, "widht"),
        ({"kind": "auto", "width": 3}, "set the kind too"),
    ],
)
def test_a_search_that_is_not_there(table: Any, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        validate({"search": {"method": table}}, place="test")
