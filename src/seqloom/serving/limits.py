"""What a server takes on: every size, count and time has a bound (RELIABILITY, the server)."""

import difflib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from seqloom.config.sections import LARGEST, Positive, Section
from seqloom.config.serialization import first_error
from seqloom.errors import ConfigError
from seqloom.remedies import Setting

__all__ = ["ServingConfig", "serving_config"]

Seconds = Annotated[float, Field(gt=0, le=86_400)]
UNITS = {"kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000}


def _read_bytes(given: Any) -> Any:
    """A number of bytes, which may be written as 500MB."""
    if isinstance(given, str) and (unit := UNITS.get(given[-2:].lower())) is not None:
        with suppress(ValueError, OverflowError):
            return round(float(given[:-2]) * unit)
    return given


Bytes = Annotated[int, BeforeValidator(_read_bytes), Field(ge=1, le=LARGEST)]


class ServingConfig(Section):
    """The limits of a server; a request beyond one is refused before the model sees it."""

    inputs: Positive = Field(64, description="inputs of a request")
    characters: Positive = Field(5_000, description="characters of an input, a prefix or a phrase")
    body: Bytes = Field(1_000_000, description="bytes of a request")
    upload: Bytes = Field(
        8_000_000, description="the same where a served model reads pictures or sound"
    )
    held: Bytes = Field(
        256_000_000, description="bytes of all requests together that are under way"
    )
    pixels: Positive = Field(16_000_000, description="pixels of a picture")
    recording: Seconds = Field(60, description="seconds of a recording")
    cells: Positive = Field(100_000, description="numbers and times of a series")
    steps: Positive = Field(1_000, description="steps of a forecast")
    paths: Positive = Field(64, description="paths of a search: a beam's width, or draws")
    n_best: Positive = Field(64, description="outputs for each input")
    alternatives: Positive = Field(50, description="likeliest tokens told of each step")
    phrases: Positive = Field(20, description="phrases that are required, or forbidden")
    expansions: Positive = Field(10_000, description="paths that an exact search reads")
    work: Positive = Field(
        400_000,
        description="inputs × paths × longest output in tokens, of a request; the tokens that "
        "scoring reads; the steps of all windows that forecasts read",
    )
    queue: Positive = Field(64, description="requests that wait for their turn")
    rows: Positive = Field(75, description="paths that one worker searches at once")
    connections: Positive = Field(1_000, description="connections that are open at once")
    client_connections: Positive = Field(750, description="of these, those of one address")
    deadline: Seconds = Field(60, description="seconds that a request may take, all in all")
    receipt: Seconds = Field(10, description="seconds for sending a request or taking an answer")
    idle: Seconds = Field(5, description="seconds that a connection may lie idle")
    memory: Annotated[int, BeforeValidator(_read_bytes), Field(ge=0, le=LARGEST)] = Field(
        0,
        description="bytes that models may take together, which are then loaded when they are "
        "asked for; with 0 all are loaded at the start and stay",
    )
    drain: Seconds = Field(30, description="seconds for what is under way when it is to stop")


def serving_config(assignments: Iterable[str]) -> ServingConfig:
    """`["queue=32", ...]` as limits, all others as they are."""
    chosen: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or name.strip() not in ServingConfig.model_fields:
            raise ConfigError(
                "this is no limit",
                place=Setting("limit", assignment),
                remedy=_right_name(name.strip() if equals else ""),
            )
        chosen[name.strip()] = value.strip().replace("_", "")
    return _validate(chosen)


def _right_name(name: str) -> str:
    """How to write a limit whose name is wrong or missing."""
    near = difflib.get_close_matches(name, ServingConfig.model_fields, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"write NAME=NUMBER, with NAME one of {', '.join(ServingConfig.model_fields)}"


def _validate(chosen: Mapping[str, Any]) -> ServingConfig:
    try:
        return ServingConfig.model_validate(chosen)
    except ValidationError as error:
        raise first_error(error, place=Setting("limit")) from None
