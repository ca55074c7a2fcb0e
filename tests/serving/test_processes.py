"""Inputs that another process decodes come to what they come to here (RELIABILITY D6)."""

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from seqloom.engine.selection import select_engine
from seqloom.errors import SeqloomError
from seqloom.prediction import (
    ContinuousBatch,
    Output,
    OutputOptions,
    PendingInput,
    PredictionRequest,
    TextPredictor,
    WholeBatch,
    batch_key,
    fits_whole_batch,
)
from seqloom.scheduling.errors import ProcessLost
from seqloom.scheduling.jobs import RenderedOutput
from seqloom.scheduling.processes import (
    Decoding,
    Process,
    RemoteDecoding,
)
from seqloom.scheduling.templates import ProcessTemplate, fork_template
from seqloom.search import Beam, MinimumRisk, Sample, Search
from tests.prediction.untrained import SOURCES, untrained
from tests.serving.searches import assert_same, each_search
from tests.serving.support import Served, exists, processes_of, serving, until
from tests.serving.wrapped import slow

MODEL = untrained("transformer")
BEAM = Beam(3)
PR_SET_CHILD_SUBREAPER = 36  # of Linux's prctl


@contextmanager
def forked(model: TextPredictor) -> Iterator[Process]:
    """A process with a model, which ends with the block."""
    template = ProcessTemplate({"model": model})
    process = template.fork()
    try:
        yield process
    finally:
        process.close()
        template.close()


@pytest.fixture
def process() -> Iterator[Process]:
    with forked(MODEL) as made:
        yield made


@pytest.fixture(scope="module")
def away() -> Iterator[Served]:
    """A server whose workers have processes."""
    with serving({"model": MODEL}, template=ProcessTemplate({"model": MODEL})) as served:
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
    outputs = {**running.add([first])}
    for _ in range(2):
        outputs |= {} if running.done else running.advance()
    outputs |= running.add(others)
    if without:
        running.cancel({without})
    while not running.done:
        outputs |= running.advance()
    return {tag: text_of(output) for tag, output in outputs.items()}


def text_of(output: Output | RenderedOutput) -> str:
    if isinstance(output, Output):
        return output.text
    text: str = json.loads(output.json)["text"]
    return text


FITTED = replace(MODEL, engine=select_engine(MODEL.network))


def test_what_is_searched_as_a_whole_is_the_same() -> None:
    """In this process and in another; what is given up is left out."""
    expected = decoded(ContinuousBatch(FITTED))
    with forked(FITTED) as process:
        remote: RemoteDecoding[str] = RemoteDecoding(process, "model", whole=True)
        assert decoded(remote) == decoded(WholeBatch(FITTED)) == expected
        without = decoded(WholeBatch(FITTED), without="input 2")
        assert without == {tag: text for tag, text in expected.items() if tag != "input 2"}


def test_a_server_searches_plain_inputs_as_a_whole() -> None:
    """Each has the output of `predict`; long ones and constrained ones go step by step."""
    assert fits_whole_batch(FITTED, waiting()[0])
    assert not fits_whole_batch(MODEL, waiting()[0])
    asked = FITTED.decoding_request(PredictionRequest(BEAM, options=OutputOptions(prefix="a")))
    assert not fits_whole_batch(FITTED, waiting()[0]._replace(request=asked))
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


def test_a_process_that_is_killed_is_missed(process: Process) -> None:
    away: RemoteDecoding[str] = RemoteDecoding(process, "model")
    away.add(waiting())
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ProcessLost):
        away.advance()
    until(lambda: not exists(process.pid))  # and no zombie is left


def test_a_copy_under_way_is_made_before_its_template_is_closed() -> None:
    """The template is held up within the copy while another thread closes it."""
    template = ProcessTemplate({"model": MODEL})
    os.kill(template.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(2) as pool:
        try:
            copying = pool.submit(template.fork)
            until(template._lock.locked)
            closing = pool.submit(template.close)
            wait([closing], timeout=0.2)
            assert not template._connection.closed
        finally:
            os.kill(template.pid, signal.SIGCONT)
        process = copying.result(20)
        closing.result(20)
    process.wait_until_ready()
    process.close()
    with pytest.raises(ProcessLost):
        template.fork()


@contextmanager
def inheriting() -> Iterator[None]:
    """This process has the children of those that end, as process 1 of a container has."""
    control = ctypes.CDLL(None).prctl
    assert control(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        control(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no prctl")
def test_process_one_of_a_container_leaves_no_zombies() -> None:
    """A model is replaced: its template ends, and then the processes that come to the server."""
    first = ProcessTemplate({}, {"model": lambda: MODEL})
    try:
        with inheriting():
            template = first.load("model")
            process = template.fork()
            process.wait_until_ready()
            template.close()
            process.close()
        assert not exists(process.pid)
    finally:
        first.close()


def test_it_goes_with_the_server(process: Process) -> None:
    """Signals to stop leave it at its work; it ends when nobody asks any more."""
    away: RemoteDecoding[str] = RemoteDecoding(process, "model")
    away.add(waiting())
    os.kill(process.pid, signal.SIGTERM)
    away.advance()
    process.close()
    assert not exists(process.pid)


def test_a_request_outlives_its_process(capsys: pytest.CaptureFixture[str]) -> None:
    """D9: whatever it had begun is decoded anew, and whoever asks does not notice.

    Each process is replaced within five seconds, busy or idle, counted, and named in the log.
    """
    expected = [output.text for output in MODEL.predict(SOURCES, search=BEAM)]
    asked = {"search": {"kind": "beam", "width": 3}}
    with serving({"model": MODEL}, template=ProcessTemplate({"model": MODEL})) as served:
        first = processes_of(served)
        for number in range(1, 4):
            answer = served.predict(*SOURCES, **asked)
            assert [each["text"] for each in answer.json["outputs"]] == expected
            events = served.events(SOURCES[0], **asked)
            assert [data["output"]["text"] for kind, data in events if kind == "output"] == [
                expected[0]
            ]
            lost = processes_of(served)
            for process in lost:
                os.kill(process, signal.SIGKILL)
            until(lambda: not set(lost) & set(processes_of(served)), seconds=5.0)  # noqa: B023
            assert not any(map(exists, lost))
            assert len(processes_of(served)) == len(first)
            assert served.counts()["seqloom_processes_lost_total"] == number * len(first)
    log = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    named = [each["process"] for each in log if each["event"] == "process lost"]
    assert set(first) <= set(named)
    assert len([each for each in log if each["event"] == "process replaced"]) == len(named)


def test_requests_under_way_outlive_their_processes() -> None:
    """All processes are killed again and again while clients ask: every request is answered."""
    model, _ = slow(0.01)
    template = ProcessTemplate({"model": model})
    expected = {text: model.predict([text])[0].text for text in SOURCES}
    with serving({"model": model}, template=template) as served, ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(served.predict, text) for text in SOURCES * 6]
        for _ in range(2):
            time.sleep(0.2)
            for process in processes_of(served):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        for text, answer in zip(SOURCES * 6, answers, strict=True):
            found = answer.result()
            if found.status == 503:  # it was in two of the processes that were killed
                assert found.headers["retry-after"] == "1"
            else:
                assert found.json["outputs"][0]["text"] == expected[text]


def test_without_the_template_threads_decode() -> None:
    """Where no process can be made any more, what was asked is answered still."""
    template = ProcessTemplate({"model": MODEL})
    with serving({"model": MODEL}, template=template) as served:
        os.kill(template.pid, signal.SIGKILL)
        for process in processes_of(served):
            os.kill(process, signal.SIGKILL)
        answer = served.predict(*SOURCES).json["outputs"]
        assert [each["text"] for each in answer] == [each.text for each in MODEL.predict(SOURCES)]


def test_one_core_needs_none() -> None:
    assert fork_template({"model": MODEL}, 1) is None
    assert issubclass(ProcessLost, SeqloomError)
