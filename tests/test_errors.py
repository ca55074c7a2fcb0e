"""The tree of errors is complete, and says the same in code as in its drawing."""

import inspect
import re
from typing import Any

from seqloom import errors
from seqloom.errors import SeqloomError

EXIT_CODES = {
    "SeqloomError": 1,
    "ConfigError": 2,
    "DataError": 3,
    "InputError": 3,
    "RowError": 3,
    "RunError": 4,
    "DivergedError": 5,
    "LimitError": 6,
    "Interrupted": 130,
}


def error_classes() -> dict[str, type[SeqloomError]]:
    members: list[tuple[str, Any]] = inspect.getmembers(errors, inspect.isclass)
    return {name: each for name, each in members if each.__module__ == errors.__name__}


def test_every_error_has_the_exit_code_of_the_design() -> None:
    assert {name: each.exit_code for name, each in error_classes().items()} == EXIT_CODES


def test_one_except_clause_catches_all_of_them() -> None:
    assert all(issubclass(each, SeqloomError) for each in error_classes().values())
    assert sorted(errors.__all__) == sorted(error_classes())


def test_the_drawing_names_every_error_with_its_code() -> None:
    drawn = re.findall(r"── (\w+) +exit (\d+)", errors.__doc__ or "")
    codes = {name: int(code) for name, code in drawn}
    assert codes == {name: code for name, code in EXIT_CODES.items() if name != "SeqloomError"}


def test_a_request_that_is_wrong_is_the_clients_fault_and_the_rest_the_servers() -> None:
    faults = {name: each.http_status // 100 for name, each in error_classes().items()}
    asked_wrongly = {"ConfigError", "DataError", "InputError", "LimitError", "RowError"}
    assert faults == {name: 4 if name in asked_wrongly else 5 for name in faults}
