"""RELIABILITY D8, D10: a server that is asked for minutes does not grow."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.counts import count
from tests.runs.finished import make_run
from tests.serving.support import Served

pytestmark = pytest.mark.faults

SECONDS = count(0, 300)
MIXED_SECONDS = count(0, 1_800)
WARM_UP = 60.0  # seconds that do not count
MALFORMED = [b"", b"{", b"[[[[", b'{"inputs": 7}', b'{"inputs": ["a"], "n_best": 999999}', b"\xff"]
Ask = Callable[[Served, int], None]


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


def soak(run: Path, seconds: float, ask: Ask) -> list[Sample]:
    """A sample a second of a server that eight clients ask, after it has warmed up."""
    command = [sys.executable, "-m", "seqloom", "serve", str(run), "--port", "0"]
    two = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=two
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        served = Served(None, port)  # type: ignore[arg-type]
        began, held = time.monotonic(), []

        def work(number: int) -> None:
            while time.monotonic() < began + seconds:
                ask(served, number)

        with ThreadPoolExecutor(8) as pool:
            working = [pool.submit(work, number) for number in range(8)]
            while time.monotonic() < began + seconds:
                time.sleep(1)
                held.append(sample(process.pid, time.monotonic() - began))
            for each in working:
                each.result()
        process.terminate()
        assert process.wait(60) == 0
    return [each for each in held if each.second > WARM_UP]


def growth(samples: list[Sample]) -> float:
    """Megabytes a minute, from the first third to the last."""
    third = len(samples) // 3
    early, late = samples[:third], samples[-third:]
    rise = sum(each.megabytes for each in late) - sum(each.megabytes for each in early)
    return rise / third / ((samples[-1].second - samples[0].second) / 60 * 2 / 3)


def ask_plainly(served: Served, number: int) -> None:
    """Outputs, whole or as they are written."""
    if number % 3 == 2:
        served.events("1 2 3", search={"kind": "greedy"})
    else:
        served.predict("4 2 1", "7", attention=True, alternatives=3)


def ask_anything(served: Served, number: int) -> None:
    """The same, with searches of other kinds, other routes and malformed requests between."""
    ask_plainly(served, number)
    searches = [{"kind": "beam", "width": 4}, {"kind": "sample", "draws": 2}, {"kind": "greedy"}]
    served.predict("2 1", search=searches[number % 3])
    served.ask("GET", ["/v1/models", "/ready", "/metrics", "/none"][number % 4])
    served.ask("POST", "/v1/predict", MALFORMED[number % len(MALFORMED)])


@pytest.mark.skipif(SECONDS == 0, reason="takes five minutes; scripts/faults runs it")
def test_memory_does_not_grow(tmp_path: Path) -> None:
    """After a minute of warming up, less than 1 MB a minute, with processes that decode."""
    assert growth(soak(make_run(tmp_path), SECONDS, ask_plainly)) < 1.0


@pytest.mark.skipif(MIXED_SECONDS == 0, reason="takes half an hour; scripts/faults runs it")
def test_nothing_grows_in_half_an_hour(tmp_path: Path) -> None:
    """D10: memory by less than 0.2 MB a minute, descriptors and threads not at all."""
    samples = soak(make_run(tmp_path), MIXED_SECONDS, ask_anything)
    assert growth(samples) < 0.2
    third = len(samples) // 3
    for name in ("descriptors", "threads"):
        early, late = (
            max(getattr(each, name) for each in part)
            for part in (samples[:third], samples[-third:])
        )
        assert late <= early
