"""Inputs that another process decodes come to what they come to here (RELIABILITY D6)."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seqloom.engine.selection import select_engine
from seqloom.errors import SeqloomError
from seqloom.prediction import (
    ContinuousBatch,
    OutputOptions,
    PendingInput,
    PredictionRequest,
    WholeBatch,
    batch_key,
    fits_whole_batch,
)
from seqloom.search import Beam, MinimumRisk, Sample, Search
from seqloom.serving.errors import ProcessLost
from seqloom.serving.processes import Decoding, Process, RemoteDecoding, fork_processes
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.searches import assert_same, each_search
from tests.serving.support import Served, serving

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


def waiting(search: Beam = BEAM) -> list[PendingInput[str]]:
    asked = MODEL.decoding_request(PredictionRequest(search))
    return [
        PendingInput(f"input {each.number}", each, each.number, asked)
        for each in MODEL.input_reader.read_all(SOURCES).encoded
    ]


def decoded(running: Decoding[str], *, without: str = "") -> dict[str, str]:
    """The first comes alone, the others after two steps."""
    first, *others = waiting()
    outputs = running.add([first])
    for _ in range(2):
        outputs |= {} if running.done else running.advance()
    outputs |= running.add(others)
    if without:
        running.cancel({without})
    while not running.done:
        outputs |= running.advance()
    return {tag: output.text for tag, output in outputs.items()}


FITTED = replace(MODEL, engine=select_engine(MODEL.network))


def test_what_is_searched_as_a_whole_is_the_same() -> None:
    """In this process and in another; what is given up is left out."""
    expected = decoded(ContinuousBatch(FITTED))
    process = Process({"model": FITTED})
    try:
        remote: RemoteDecoding[str] = RemoteDecoding(process, "model", whole=True)
        assert decoded(remote) == decoded(WholeBatch(FITTED)) == expected
        without = decoded(WholeBatch(FITTED), without="input 2")
        assert without == {tag: text for tag, text in expected.items() if tag != "input 2"}
    finally:
        process.close()


def test_a_server_searches_plain_inputs_as_a_whole() -> None:
    """Each has the output of `predict`; long ones and constrained ones go step by step."""
    assert fits_whole_batch(FITTED, waiting()[0])
    assert not fits_whole_batch(MODEL, waiting()[0])
    asked = FITTED.decoding_request(PredictionRequest(BEAM, options=OutputOptions(prefix="a")))
    assert not fits_whole_batch(FITTED, replace(waiting()[0], request=asked))
    search = FITTED.config.search.model_copy(update={"max_extra": 2_000})
    long = replace(FITTED, config=FITTED.config.model_copy(update={"search": search}))
    assert not fits_whole_batch(long, waiting()[0])
    with serving({"model": FITTED}) as served:
        for prefix in ("", "a"):
            answer = served.predict(*SOURCES, prefix=prefix).json["outputs"]
            expected = FITTED.predict(SOURCES, options=OutputOptions(prefix=prefix))
            assert [each["text"] for each in answer] == [each.text for each in expected]


def test_outputs_are_the_same(process: Process) -> None:
    """Inputs that join, and those that are left when one is given up."""
    here: ContinuousBatch[str] = ContinuousBatch(MODEL)
    assert decoded(RemoteDecoding(process, "model")) == decoded(here)
    (_, _, third, *_) = waiting()
    left = decoded(RemoteDecoding(process, "model"), without=third.tag)
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
    first, second = (
        MODEL.decoding_request(PredictionRequest(MinimumRisk(Sample(draws=4)), 2)) for _ in range(2)
    )
    assert batch_key(first) is not None
    assert batch_key(first) == batch_key(second)


def test_what_is_certain_is_told(process: Process) -> None:
    here: ContinuousBatch[str] = ContinuousBatch(MODEL)
    away: RemoteDecoding[str] = RemoteDecoding(process, "model")
    for running in (here, away):
        running.add(waiting())
    while not here.done:
        assert away.tags == here.tags
        for tag in here.tags:
            assert away.stable_tokens(tag, 0) == here.stable_tokens(tag, 0)
        assert here.advance().keys() == away.advance().keys()
    assert away.done


def test_an_error_ends_its_batch_alone(process: Process) -> None:
    """It is raised here; other batches of the process, and the process itself, go on."""
    other: RemoteDecoding[str] = RemoteDecoding(process, "model")
    other.add(waiting())
    with pytest.raises(RuntimeError, match="KeyError"):
        RemoteDecoding[str](process, "no such model").add(waiting())
    while not other.done:
        other.advance()


def test_a_process_that_is_killed_is_missed() -> None:
    process = Process({"model": MODEL})
    away: RemoteDecoding[str] = RemoteDecoding(process, "model")
    away.add(waiting())
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ProcessLost):
        away.advance()
    process.close()


def test_it_goes_with_the_server() -> None:
    """Signals to stop leave it at its work; it ends when nobody asks any more."""
    process = Process({"model": MODEL})
    away: RemoteDecoding[str] = RemoteDecoding(process, "model")
    away.add(waiting())
    os.kill(process.pid, signal.SIGTERM)
    away.advance()
    process.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


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
            os.kill(process.pid, signal.SIGKILL)


def test_one_core_needs_none() -> None:
    assert fork_processes({"model": MODEL}, 1) == []
    assert issubclass(ProcessLost, SeqloomError)
