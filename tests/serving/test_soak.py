"""RELIABILITY D8: a server that is asked for minutes does not grow."""

import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.counts import count
from tests.runs.finished import make_run
from tests.serving.support import Served

pytestmark = pytest.mark.faults

SECONDS = count(0, 300)


def resident(process: int) -> float:
    """Megabytes that a process and those that it began hold, each for itself."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    every = [process, *map(int, children)]
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in every)
    return pages * resource.getpagesize() / 2**20


@pytest.mark.skipif(SECONDS == 0, reason="takes five minutes; scripts/faults runs it")
def test_memory_does_not_grow(tmp_path: Path) -> None:
    """After a minute of warming up, less than 1 MB a minute, with processes that decode."""
    run = make_run(tmp_path)
    command = [sys.executable, "-m", "seqloom", "serve", str(run), "--port", "0"]
    two = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=two
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        served = Served(None, port)  # type: ignore[arg-type]
        began, held = time.monotonic(), []

        def ask(number: int) -> None:
            while time.monotonic() < began + SECONDS:
                if number % 3 == 2:
                    served.events("1 2 3", search={"kind": "greedy"})
                else:
                    served.predict("4 2 1", "7", attention=True, alternatives=3)

        with ThreadPoolExecutor(8) as pool:
            working = [pool.submit(ask, number) for number in range(8)]
            while time.monotonic() < began + SECONDS:
                time.sleep(1)
                held.append((time.monotonic() - began, resident(process.pid)))
            for each in working:
                each.result()
        process.terminate()
        assert process.wait(60) == 0
    late = [(at, size) for at, size in held if at > 60]
    minutes = (late[-1][0] - late[0][0]) / 60
    third = len(late) // 3
    growth = sum(s for _, s in late[-third:]) / third - sum(s for _, s in late[:third]) / third
    assert growth / (minutes * 2 / 3) < 1.0
