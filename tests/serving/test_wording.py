"""Answers of the server name fields of the request, never flags of the command line."""

import re

import pytest

from seqloom import errors
from seqloom.cli.wording import FLAGS
from seqloom.config import option_names
from seqloom.errors import ConfigError, SeqloomError
from seqloom.foreign_options import OUTPUT_ANSWERS, TRAINING_ANSWERS
from seqloom.remedies import Command, NestedPlace, Remedy, Setting
from seqloom.serving.errors import error_body

FLAG = re.compile(r"(?<!\S)--\w")
KINDS = [getattr(errors, name) for name in errors.__all__ if name != "ErrorParts"]
NAMED: list[Setting | Command] = [
    *(Setting(name, 1) for name in {*option_names(), *FLAGS, "n_best", "prefix", "run", "show"}),
    *(Command(name, "DIR", Setting("run", "DIR")) for name in ("train", "predict", "options")),
]


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/stream", "/v1/score"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.__name__)
def test_no_answer_names_a_flag(kind: type[SeqloomError], path: str) -> None:
    """Whatever a remedy or a place names, in every kind of error."""
    for named in NAMED:
        remedy = Remedy("mend it, or pass {}", named, otherwise="mend it")
        place = NestedPlace("inputs", named) if isinstance(named, Setting) else "inputs"
        body = error_body(kind("it is wrong", place=place, remedy=remedy), path)
        assert not FLAG.search(str(body)), (named, body)
        assert "mend it" in body["remedy"]


def test_answers_to_options_of_other_toolkits() -> None:
    for remedy in (*TRAINING_ANSWERS.values(), *OUTPUT_ANSWERS.values()):
        body = error_body(ConfigError("there is no such option", remedy=remedy), "/v1/predict")
        assert not FLAG.search(str(body)), body
