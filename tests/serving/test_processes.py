"""Inputs that another process decodes come to what they come to here (RELIABILITY D6)."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from seqloom.errors import SeqloomError
from seqloom.prediction import Running, Waiting, Wishes, sharing
from seqloom.search import Beam, MinimumRisk, Sample, Search
from seqloom.serving.processes import Away, Decoding, Lost, Process, forked
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.support import Served, serving
from tests.serving.test_api import assert_same, each_search

MODEL = untrained("transformer")
BEAM = Beam(3)


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process({"model": MODEL})
    yield made
    made.close()


@pytest.fixture(scope="module")
def away() -> Iterator[Served]:
    """A server whose only worker has a process."""
    with serving({"model": MODEL}, processes=[Process({"model": MODEL})]) as served:
        yield served


def waiting(search: Beam = BEAM) -> list[Waiting[str]]:
    asked = MODEL.asked(search, 1, Wishes())
    return [
        Waiting(f"input {each.number}", each, each.number, asked)
        for each in MODEL.inputs.together(SOURCES).encoded
    ]


def decoded(running: Decoding[str], *, without: str = "") -> dict[str, str]:
    """The first comes alone, the others after two steps."""
    first, *others = waiting()
    outputs = running.add([first])
    for _ in range(2):
        outputs |= {} if running.done else running.advance()
    outputs |= running.add(others)
    if without:
        running.give_up({without})
    while not running.done:
        outputs |= running.advance()
    return {tag: output.text for tag, output in outputs.items()}


def test_outputs_are_the_same(process: Process) -> None:
    """Inputs that join, and those that are left when one is given up."""
    here: Running[str] = Running(MODEL)
    assert decoded(Away(process, "model")) == decoded(here)
    (_, _, third, *_) = waiting()
    left = decoded(Away(process, "model"), without=third.tag)
    assert left == {tag: text for tag, text in decoded(here).items() if tag != third.tag}


@each_search
def test_every_search(away: Served, asked: dict[str, Any], search: Search) -> None:
    """A request gives what `predict` gives, blank inputs too."""
    inputs = [*SOURCES, " ", ""]
    answer = away.predict(*inputs, search=asked)
    assert answer.status == 200, answer.body
    assert_same(answer.json["outputs"], MODEL.predict(inputs, search=search))


def test_equal_risks_share_a_batch() -> None:
    """Whoever asks, and however often."""
    first, second = (MODEL.asked(MinimumRisk(Sample(draws=4)), 2, Wishes()) for _ in range(2))
    assert sharing(first) is not None
    assert sharing(first) == sharing(second)


def test_what_is_certain_is_told(process: Process) -> None:
    here: Running[str] = Running(MODEL)
    away: Away[str] = Away(process, "model")
    for running in (here, away):
        running.add(waiting())
    while not here.done:
        assert away.tags == here.tags
        for tag in here.tags:
            assert away.certain(tag, 0) == here.certain(tag, 0)
        assert here.advance().keys() == away.advance().keys()
    assert away.done


def test_an_error_ends_its_batch_alone(process: Process) -> None:
    """It is raised here; other batches of the process, and the process itself, go on."""
    other: Away[str] = Away(process, "model")
    other.add(waiting())
    with pytest.raises(RuntimeError, match="KeyError"):
        Away[str](process, "no such model").add(waiting())
    while not other.done:
        other.advance()


def test_a_process_that_is_killed_is_missed() -> None:
    process = Process({"model": MODEL})
    away: Away[str] = Away(process, "model")
    away.add(waiting())
    os.kill(process.identity, signal.SIGKILL)
    with pytest.raises(Lost):
        away.advance()
    process.close()


def test_it_goes_with_the_server() -> None:
    """Signals to stop leave it at its work; it ends when nobody asks any more."""
    process = Process({"model": MODEL})
    away: Away[str] = Away(process, "model")
    away.add(waiting())
    os.kill(process.identity, signal.SIGTERM)
    away.advance()
    process.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process.identity, 0)


def test_a_request_outlives_its_process() -> None:
    """Whatever it had begun is decoded here, and nobody notices."""
    process = Process({"model": MODEL})
    expected = [output.text for output in MODEL.predict(SOURCES, search=BEAM)]
    asked = {"search": {"kind": "beam", "width": 3}}
    with serving({"model": MODEL}, processes=[process]) as served:
        for _ in range(2):
            answer = served.predict(*SOURCES, **asked)
            assert [each["text"] for each in answer.json["outputs"]] == expected
            events = served.events(SOURCES[0], **asked)
            assert [data["output"]["text"] for kind, data in events if kind == "output"] == [
                expected[0]
            ]
            os.kill(process.identity, signal.SIGKILL)


def test_one_core_needs_none() -> None:
    assert forked({"model": MODEL}, 1) == []
    assert issubclass(Lost, SeqloomError)
