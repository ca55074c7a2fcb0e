"""RELIABILITY D5, D6: nothing is lost or counted twice, whatever clients and models do."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from seqloom.serving.app import application
from tests.counts import count
from tests.prediction.untrained import SOURCES
from tests.runs.finished import make_run
from tests.serving.kinds import series
from tests.serving.support import Served, send, serving, until
from tests.serving.wrapped import POISON, endless, held_forecaster, poisoned, slow

pytestmark = pytest.mark.faults


def settled(served: Served) -> dict[str, int]:
    """The counters once every accepted request has ended."""

    def over() -> bool:
        counts = served.outcomes()
        ended = counts["completed"] + counts["failed"] + counts["cancelled"]
        return counts["accepted"] == ended

    until(over)
    return served.outcomes()


@pytest.mark.parametrize("total", [count(120, 500)])
def test_the_counters_add_up(total: int) -> None:
    """D5: into a queue of 32, received = accepted + refused, accepted = what it became."""
    model, _ = slow(0.003)
    with serving({"only": model}, queue=32, rows=20) as served:

        def ask(number: int) -> int:
            return served.predict(SOURCES[number % len(SOURCES)]).status

        with ThreadPoolExecutor(100) as pool:
            statuses = list(pool.map(ask, range(total)))
        counts = settled(served)
    assert set(statuses) <= {200, 429}
    assert counts == {
        "received": total,
        "accepted": statuses.count(200),
        "refused": statuses.count(429),
        "completed": statuses.count(200),
        "failed": 0,
        "cancelled": 0,
    }


def test_a_full_queue_says_when_to_come_back() -> None:
    """One is decoded, one waits, and the third is told to try again."""
    model, decoder = endless(0.01)
    with serving({"only": model}, queue=1, rows=5, deadline=60) as served:
        first = send(served, b"predict", {"inputs": ["abc"]})
        until(lambda: decoder.steps > 3)
        second = send(served, b"predict", {"inputs": ["abc"]})
        until(lambda: served.counts()["seqloom_queue"] == 1)
        third = served.predict("abc")
        assert (third.status, third.headers["retry-after"]) == (429, "1")
        first.close()
        second.close()
        assert settled(served)["cancelled"] == 2


@pytest.mark.parametrize("path", [b"predict", b"stream"])
def test_a_client_that_goes_is_given_up_within_a_step(path: bytes) -> None:
    """D6: the others go on; what the gone one waited for is not computed any further."""
    model, decoder = endless(0.01)
    with serving({"only": model}) as served:
        gone = [send(served, path, {"inputs": ["abc"]}) for _ in range(count(3, 20))]
        until(lambda: decoder.steps > 5)
        for connection in gone:
            connection.close()
        counts = settled(served)
        made = decoder.steps
        assert counts["cancelled"] == len(gone)
        workers = served.service.scheduler.workers
        until(lambda: not any(worker.ticket_count for worker in workers))
        assert decoder.steps <= made + len(workers)  # a step of each was under way


def test_a_deadline_is_kept_between_steps() -> None:
    """Status 504, while a request beside it that has time goes on."""
    model, _ = endless(0.01)
    with serving({"only": model}, deadline=0.3) as served:
        answer = served.predict("abc")
        assert answer.status == 504
        assert "longer than" in answer.error
        kind, data = served.events("abc")[-1]
        assert (kind, "longer than" in data["error"]) == ("error", True)
        assert settled(served)["failed"] == 2


@pytest.mark.parametrize("path", ["predict", "stream"])
def test_a_deadline_is_kept_where_there_are_no_steps(path: str) -> None:
    """Whoever asks is told at the deadline, though the work is still under way."""
    model = held_forecaster()
    with serving({"load": model}, deadline=0.3) as served:
        try:
            answer = served.ask("POST", f"/v1/{path}", {"inputs": [{"series": series()}]})
            assert answer.status == (504 if path == "predict" else 200)
            assert b"longer than" in answer.body
            assert settled(served)["failed"] == 1
        finally:
            model.may.set()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("predict", {"inputs": ["abc"]}),
        ("stream", {"inputs": ["abc"]}),
        ("score", {"pairs": [["a", "b"]]}),
    ],
)
def test_a_server_that_stops_says_so(path: str, body: object) -> None:
    """Status 503, which sends whoever asks to another one, and not 429, which says to wait."""
    model, _ = slow(0.0)
    app, service = application({"only": model})
    service.stop()
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode()}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": f"/v1/{path}",
        "query_string": b"",
    }
    asyncio.run(app({**scope, "headers": headers}, receive, send))
    start, answer = sent
    assert start["status"] == 503
    assert b"retry-after" not in dict(start["headers"])
    assert "is stopping" in json.loads(answer["body"])["error"]


def test_a_poisonous_input_fails_alone() -> None:
    """D6: of many requests at once only those with the poison fail, with status 500."""
    model = poisoned()
    with serving({"only": model}) as served:
        inputs = [SOURCES[number % 5] + POISON * (number % 4 == 0) for number in range(24)]
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(served.predict, inputs))
        for text, answer in zip(inputs, answers, strict=True):
            if POISON in text:
                assert (answer.status, "poison" in answer.error) == (500, False)
            else:
                assert answer.json["outputs"][0]["text"] == model.predict([text])[0].text
        counts = settled(served)
        assert (counts["failed"], counts["completed"]) == (6, 18)


def test_a_stream_survives_the_poison_of_others() -> None:
    """What was told stays true when its batch has to be begun again."""
    model = poisoned()
    with serving({"only": model}) as served, ThreadPoolExecutor(8) as pool:
        ask = lambda text: served.events(text, search={"kind": "greedy"})  # noqa: E731
        streams = [pool.submit(ask, text) for text in ["abc", "cab"] * 3]
        poison = [pool.submit(served.predict, POISON) for _ in range(2)]
        assert [each.result().status for each in poison] == [500, 500]
        for stream in streams:
            events = stream.result()
            tokens = [
                t["text"] for kind, data in events if kind == "tokens" for t in data["tokens"]
            ]
            (output,) = [data["output"] for kind, data in events if kind == "output"]
            assert tokens == [t["text"] for t in output["tokens"]][: len(tokens)]
            assert tokens


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("served"))


@pytest.mark.parametrize("number", range(count(1, 10)))
def test_a_drained_server_ends_well(number: int, run: Path) -> None:
    """D6: SIGTERM with 8 in flight: 0 dropped, exit code 0."""
    command = [sys.executable, "-m", "seqloom", "serve", str(run), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    port = int(line.split("127.0.0.1:")[1].split("/")[0])
    served = Served(None, port)  # type: ignore[arg-type]
    request = {"inputs": ["1 2 3 4"] * 40, "search": {"kind": "beam", "width": 8}}
    waiting = [send(served, b"predict", request) for _ in range(8)]
    until(lambda: served.outcomes()["accepted"] == 8)
    process.send_signal(signal.SIGTERM)
    for connection in waiting:
        received = b""
        with connection:
            while part := connection.recv(65_536):
                received += part
        assert received.startswith(b"HTTP/1.1 200"), received[:100]
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    events = [json.loads(each) for each in err.splitlines()]
    assert [each["event"] for each in events][-1] == "stopped"
    assert "Traceback" not in err + out
