"""One declaration of a search reaches every front end, and so does one from outside."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from seqloom.cli.search_options import SearchOptions
from seqloom.config import Config, ServingConfig, dump, parse, validate
from seqloom.errors import ConfigError
from seqloom.prediction.search_setup import build_search, search_from_config
from seqloom.search import RANKINGS, SEARCHES, Beam, Greedy, Ranking, Sample, search_rows
from seqloom.serving.requests import describe_searches, predict_request_model
from tests.prediction.untrained import SOURCES, untrained

OPTIONS = {kind: {option.name: option for option in search.options()} for kind, search in SEARCHES}


@pytest.fixture
def parts() -> Iterator[Any]:
    """A user's module, forgotten after the test."""
    from tests.search import parts

    SEARCHES.options("favourite")(parts.Favourite)
    RANKINGS.options("long")(parts.LongFirst)
    yield parts
    del SEARCHES._options["favourite"], RANKINGS._options["long"]


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


def test_a_search_from_outside_is_everywhere(parts: Any) -> None:
    """In requests, the chooser, the command line, the manual and a run's configuration."""
    assert set(schema_options("favourite")) == {"token", "worth"}
    assert describe_searches(ServingConfig())[-1]["kind"] == "favourite"
    assert "search_token_worth" in {each.name for each in SearchOptions.parameters()}
    assert ("favourite", "worth") in {(row.kind, row.name) for row in search_rows()}
    wanted = parts.Favourite(token=6, worth=9.0)
    table = {"kind": "favourite", "token": 6, "worth": 9.0}
    config = validate({"search": {"method": table}}, place="test")
    assert search_from_config(config.search, 1) == wanted
    typed = SearchOptions("favourite", {"--token": 6, "--token-worth": 9.0})
    assert typed.search(Config().search) == wanted
    body = {"inputs": ["a"], "search": table}
    asked = predict_request_model().model_validate(body)
    assert asked.prediction_request(Config().search, ServingConfig()).search == wanted


def test_a_search_from_outside_decodes(parts: Any) -> None:
    """Without weight it is greedy search; with much, every output is full of its token."""
    model = untrained("lstm")
    plain = [output.text for output in model.predict(SOURCES, search=Greedy())]
    none = model.predict(SOURCES, search=parts.Favourite(worth=0.0))
    assert [output.text for output in none] == plain
    (name,) = model.target.tokens([6])
    for output in model.predict(SOURCES, search=parts.Favourite(token=6, worth=1e6)):
        assert {token.text for token in output.tokens} == {name}


def test_a_ranking_from_outside_orders_the_outputs(parts: Any) -> None:
    config = validate({"search": {"ranking": {"kind": "long", "bonus": 100.0}}}, place="test")
    ranking = Ranking.from_config(config.search)
    assert ranking == parts.LongFirst(bonus=100.0)
    (output,) = untrained("lstm").predict(["abc"], search=Beam(4, ranking), n_best=3)
    lengths = [len(each.tokens) for each in output.n_best]
    assert lengths == sorted(lengths, reverse=True)
