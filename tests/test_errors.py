"""The tree of errors is complete, and says the same in code as in its drawing."""

import inspect
import re
from multiprocessing import Pipe
from typing import Any

import typer

from seqloom import errors
from seqloom.cli.app import app
from seqloom.cli.wording import CommandWording
from seqloom.errors import ConfigError, RowError, SeqloomError
from seqloom.remedies import PYTHON, FileLocation, Remedy, Setting
from seqloom.scheduling.errors import QueueFull
from seqloom.serving.errors import RequestRefused, wording_of
from seqloom.serving.errors import error_classes as known_classes

EXIT_CODES = {
    "SeqloomError": 1,
    "ConfigError": 2,
    "DataError": 3,
    "LineError": 3,
    "InputError": 3,
    "RowError": 3,
    "RunError": 4,
    "DivergedError": 5,
    "LimitError": 6,
    "Interrupted": 130,
}


def error_classes() -> dict[str, type[SeqloomError]]:
    members: list[tuple[str, Any]] = inspect.getmembers(errors, inspect.isclass)
    return {
        name: each
        for name, each in members
        if each.__module__ == errors.__name__ and issubclass(each, Exception)
    }


def test_every_error_has_the_exit_code_of_the_design() -> None:
    assert {name: each.exit_code for name, each in error_classes().items()} == EXIT_CODES


def test_one_except_clause_catches_all_of_them() -> None:
    assert all(issubclass(each, SeqloomError) for each in error_classes().values())
    named = {name for name in errors.__all__ if name in error_classes()}
    assert named == set(error_classes())


def test_the_drawing_names_every_error_with_its_code() -> None:
    drawn = re.findall(r"── (\w+) +exit (\d+)", errors.__doc__ or "")
    codes = {name: int(code) for name, code in drawn}
    assert codes == {name: code for name, code in EXIT_CODES.items() if name != "SeqloomError"}


def test_a_request_that_is_wrong_is_the_clients_fault_and_the_rest_the_servers() -> None:
    faults = {name: each.http_status // 100 for name, each in error_classes().items()}
    asked_wrongly = {
        "ConfigError",
        "DataError",
        "InputError",
        "LimitError",
        "LineError",
        "RowError",
    }
    assert faults == {name: 4 if name in asked_wrongly else 5 for name in faults}


SKIP = Setting("data.skip_bad", True)
BAD_ROW = RowError(
    "the target is empty",
    place=FileLocation("pairs.tsv", 7),
    remedy=Remedy("fill it in, or pass {}", SKIP, otherwise="fill it in"),
)
TRAIN, DESCRIBE = (
    CommandWording(name, typer.main.get_command(app).commands[name].params)  # type: ignore[attr-defined]
    for name in ("train", "describe")
)


def test_an_error_is_one_sentence_of_its_parts() -> None:
    parts = [("", "wrong", ""), ("a", "wrong", ""), ("", "wrong", "do"), ("a", "wrong", "do")]
    said = ["wrong", "a: wrong", "wrong; do", "a: wrong; do"]
    errors = [SeqloomError(b, place=a, remedy=c) for a, b, c in parts]
    assert [str(error) for error in errors] == said
    assert [(error.place, error.problem, error.remedy) for error in errors] == parts


def test_each_front_end_words_the_same_remedy_in_its_own_terms() -> None:
    start = "pairs.tsv:7: the target is empty; fill it in"
    assert str(BAD_ROW) == start + ", or pass options={'data': {'skip_bad': True}}"
    assert BAD_ROW.parts(TRAIN).sentence == start + ", or pass --skip-bad"
    assert BAD_ROW.parts(wording_of("/v1/predict")).sentence == start


def test_a_command_names_only_what_it_takes() -> None:
    named = (SKIP, Setting("training.updates", 9), Setting("base", "runs/a b"), Setting("run"))
    trained = ["--skip-bad", "--set training.updates=9", "--from 'runs/a b'", "--run"]
    assert [TRAIN.setting(each) for each in named] == trained
    assert [DESCRIBE.setting(each) for each in named] == [None, None, None, "DIR"]


def test_an_option_of_a_request_is_named_as_its_field() -> None:
    error = ConfigError(
        "too few", place=Setting("n_best", 3), remedy=Remedy("lower {}", Setting("n_best"))
    )
    wordings = (PYTHON, CommandWording(), wording_of("/v1/predict"))
    assert [error.parts(each).sentence for each in wordings] == [
        "n_best=3: too few; lower n_best=",
        "--n-best 3: too few; lower --n-best",
        '"n_best": 3: too few; lower "n_best"',
    ]


def test_a_place_around_another_comes_first_and_the_error_stays_what_it_was() -> None:
    outer = BAD_ROW.at("inputs, number 2")
    assert type(outer) is RowError
    assert outer.parts().place == "inputs, number 2: pairs.tsv:7"
    assert (outer.problem, outer.remedy) == (BAD_ROW.problem, BAD_ROW.remedy)
    assert BAD_ROW.line == 7


def test_errors_cross_from_one_process_to_another_whole() -> None:
    there, here = Pipe()
    for error in (BAD_ROW, RequestRefused("no", status=415, remedy="send JSON"), QueueFull("full")):
        there.send(error)
        again = here.recv()
        assert (type(again), vars(again)) == (type(error), vars(error))


def test_each_kind_of_error_has_a_code_of_its_own() -> None:
    kinds = known_classes()
    ours: list[type[SeqloomError]] = [*error_classes().values(), QueueFull, RequestRefused]
    assert all(kinds[each.code] is each for each in ours)
