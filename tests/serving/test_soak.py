"""RELIABILITY D8, D10: a server that is asked for minutes does not grow, and loses nothing.

The machine may be paused or busy with other things meanwhile. A watch beside the clients notices
each time in which it could not run, and time goes by its clock, in which such pauses do not count:
seconds of warm-up, minutes of growth, and how long the soak lasts. A request may fail for want
of time only where a pause was within it; such requests are counted, asked again, and few.
"""

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.counts import count
from tests.runs.finished import make_run
from tests.serving.support import Answer, Served

pytestmark = pytest.mark.faults

SECONDS = count(0, 300)
MIXED_SECONDS = count(0, 1_800)
WARM_UP = 60.0  # seconds that do not count
MALFORMED = [b"", b"{", b"[[[[", b'{"inputs": 7}', b'{"inputs": ["a"], "n_best": 999999}', b"\xff"]
TICK = 0.05  # seconds that the watch sleeps
PAUSE = 2.0  # seconds more than that, which are a pause
Ask = Callable[["Client", int], None]


class Watch:
    """A clock that stands still while the machine does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._paused = 0.0
        self.pauses: list[float] = []  # seconds of each

    def look(self) -> float:
        """The seconds in which this process could run, as of now."""
        with self._lock:
            now = time.monotonic()
            lost = now - self._last - TICK
            self._last = now
            if lost > PAUSE:
                self.pauses.append(lost)
                self._paused += lost
            return now - self._paused

    @contextmanager
    def running(self) -> Iterator["Watch"]:
        """Look again and again."""
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(TICK):
                self.look()

        self.look()
        watching = threading.Thread(target=go_on)
        watching.start()
        try:
            yield self
        finally:
            over.set()
            watching.join()


class Client:
    """Asks, and insists on an answer: what fails for want of time is asked again, if there was a
    pause meanwhile."""

    def __init__(self, served: Served, watch: Watch) -> None:
        self._served = served
        self._watch = watch
        self.answered = 0
        self.repeated = 0

    def ask(self, status: int | None, method: str, path: str, body: object = None) -> None:
        """Ask until there is an answer, which has this status, or one below 500."""
        while True:
            pauses = len(self._watch.pauses)
            answer: Answer | None = None
            try:
                answer = self._served.ask(method, path, body)
            except (OSError, HTTPException) as error:
                fault = repr(error)
            else:
                if (answer.status == status) if status else (answer.status < 500):
                    assert b"event: error" not in answer.body
                    self.answered += 1
                    return
                fault = f"{answer.status} {answer.body[:300]!r}"
            self._watch.look()
            late = answer is None or answer.status in (408, 504)
            assert late, f"{method} {path}: {fault}"
            assert len(self._watch.pauses) > pauses, f"{method} {path}: {fault}, without a pause"
            self.repeated += 1


class Sample(NamedTuple):
    """What a server and the processes that it began hold at some second."""

    second: float
    megabytes: float
    descriptors: int
    threads: int


def family(process: int) -> list[int]:
    """A process, those that it began, and those that these began."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(each for child in children for each in family(int(child)))]


def sample(process: int, second: float) -> Sample:
    """What a process and all that came of it hold, each for itself."""
    every = [Path(f"/proc/{each}") for each in family(process)]
    pages = sum(int((one / "statm").read_text().split()[1]) for one in every)
    descriptors = sum(len(list((one / "fd").iterdir())) for one in every)
    threads = sum(len(list((one / "task").iterdir())) for one in every)
    return Sample(second, pages * resource.getpagesize() / 2**20, descriptors, threads)


class Soak(NamedTuple):
    """What came of a server that was asked for some time."""

    samples: list[Sample]  # one a second, after it has warmed up
    answered: int
    repeated: int  # requests that were asked again, because of pauses
    pauses: list[float]


def soak(run: Path, seconds: float, ask: Ask) -> Soak:
    """A server that eight clients ask for so many seconds in which the machine ran."""
    command = [sys.executable, "-m", "seqloom", "serve", str(run), "--port", "0"]
    two = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=two
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        served, held = Served(None, port), []  # type: ignore[arg-type]
        with Watch().running() as watch, ThreadPoolExecutor(8) as pool:
            clients = [Client(served, watch) for _ in range(8)]
            began = watch.look()

            def work(number: int) -> None:
                while watch.look() < began + seconds:
                    ask(clients[number], number)

            working = [pool.submit(work, number) for number in range(8)]
            while (now := watch.look()) < began + seconds:
                held.append(sample(process.pid, now - began))
                assert not any(each.done() and each.exception() for each in working)
                time.sleep(1)
            for each in working:
                each.result()
        process.terminate()
        assert process.wait(60) == 0
    answered, repeated = (
        sum(getattr(each, name) for each in clients) for name in ("answered", "repeated")
    )
    print(f"{answered:,} answered, {repeated} asked again, pauses: {watch.pauses}")
    warm = [each for each in held if each.second > WARM_UP]
    return Soak(warm, answered, repeated, watch.pauses)


def growth(samples: list[Sample]) -> float:
    """Megabytes a minute, from the first third to the last."""
    third = len(samples) // 3
    early, late = samples[:third], samples[-third:]
    rise = sum(each.megabytes for each in late) - sum(each.megabytes for each in early)
    return rise / third / ((samples[-1].second - samples[0].second) / 60 * 2 / 3)


def ask_plainly(client: Client, number: int) -> None:
    """Outputs, whole or as they are written."""
    if number % 3 == 2:
        asked: dict[str, object] = {"inputs": ["1 2 3"], "search": {"kind": "greedy"}}
        client.ask(200, "POST", "/v1/stream", asked)
    else:
        asked = {"inputs": ["4 2 1", "7"], "attention": True, "alternatives": 3}
        client.ask(200, "POST", "/v1/predict", asked)


def ask_anything(client: Client, number: int) -> None:
    """The same, with searches of other kinds, other routes and malformed requests between."""
    ask_plainly(client, number)
    searches = [{"kind": "beam", "width": 4}, {"kind": "sample", "draws": 2}, {"kind": "greedy"}]
    asked = {"inputs": ["2 1"], "search": searches[number % 3]}
    client.ask(200, "POST", "/v1/predict", asked)
    client.ask(None, "GET", ["/v1/models", "/ready", "/metrics", "/none"][number % 4])
    client.ask(None, "POST", "/v1/predict", MALFORMED[number % len(MALFORMED)])


def check_answers(found: Soak) -> None:
    """Nothing was lost; without pauses nothing was asked twice, and eight for each pause at
    most."""
    assert found.answered > 8
    assert found.repeated <= 8 * len(found.pauses)


def test_a_pause_is_noticed_and_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds that nobody could look are no time of the watch; a busy half second is."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    watch = Watch()
    began = watch.look()
    for passed in (0.05, 0.5, 3.05, 0.05):
        now[0] += passed
        watch.look()
    assert watch.pauses == [pytest.approx(3.0)]
    assert watch.look() - began == pytest.approx(0.65)


def test_what_fails_without_a_pause_is_a_fault() -> None:
    """And a fault in time as well, unless it is one of time."""

    class Never:
        def ask(self, *_: object) -> Answer:
            watch.pauses.extend(beside)
            return Answer(status, {}, b"")

    watch = Watch()
    client = Client(Never(), watch)  # type: ignore[arg-type]
    for status, beside in ((504, []), (500, [3.0]), (404, [3.0])):  # noqa: B007 (read by Never)
        with pytest.raises(AssertionError, match=str(status)):
            client.ask(200, "GET", "/")
    assert (client.answered, client.repeated) == (0, 0)


@pytest.mark.skipif(SECONDS == 0, reason="takes five minutes; scripts/faults runs it")
def test_memory_does_not_grow(tmp_path: Path) -> None:
    """After a minute of warming up, less than 1 MB a minute, with processes that decode."""
    found = soak(make_run(tmp_path), SECONDS, ask_plainly)
    check_answers(found)
    assert growth(found.samples) < 1.0


@pytest.mark.skipif(MIXED_SECONDS == 0, reason="takes half an hour; scripts/faults runs it")
def test_nothing_grows_in_half_an_hour(tmp_path: Path) -> None:
    """D10: memory by less than 0.2 MB a minute, descriptors and threads not at all."""
    found = soak(make_run(tmp_path), MIXED_SECONDS, ask_anything)
    check_answers(found)
    samples = found.samples
    assert growth(samples) < 0.2
    third = len(samples) // 3
    for name in ("descriptors", "threads"):
        early, late = (
            max(getattr(each, name) for each in part)
            for part in (samples[:third], samples[-third:])
        )
        assert late <= early
