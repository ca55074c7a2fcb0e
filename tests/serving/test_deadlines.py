"""Deadlines of requests and of idle connections, which share their timers."""

import asyncio
import time

import pytest

from seqloom.scheduling.errors import DeadlineExceeded
from seqloom.scheduling.jobs import Deadlines, Event, Job, RenderedOutput
from tests.serving.support import serving
from tests.serving.wrapped import slow

IDLE = 1  # seconds
QUESTION = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_each_request_expires_at_its_own_deadline() -> None:
    """In whichever order they came; one that has ended does not expire."""

    async def run() -> tuple[float, ...]:
        deadlines, began = Deadlines(), time.monotonic()

        async def seconds_of(allowed: float) -> float:
            job = Job("model", began + allowed, lambda _: None, deadlines=deadlines, began=began)
            event = await job.next_event()
            assert isinstance(event.error, DeadlineExceeded)
            job.end()
            return time.monotonic() - began

        ended = Job("model", began + 0.05, lambda _: None, deadlines=deadlines)
        waits = asyncio.create_task(ended.next_event())
        await asyncio.sleep(0)
        ended.put(Event(0, outputs=(RenderedOutput(b"{}", 0),)))
        assert (await waits).error is None
        ended.end()
        found = await asyncio.gather(seconds_of(0.3), seconds_of(0.1), seconds_of(0.5))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ended.next_event(), 0.05)
        return found

    found = asyncio.run(run())
    for seconds, allowed in zip(found, (0.3, 0.1, 0.5), strict=True):
        assert allowed <= seconds < allowed + 10
    assert found[1] < found[0] < found[2]


def test_a_deadline_that_follows_others_is_watched() -> None:
    """The timer begins again after it has run, and after nobody was left to wait for."""

    async def run() -> None:
        deadlines = Deadlines()
        for _ in range(3):
            job = Job("model", time.monotonic() + 0.05, lambda _: None, deadlines=deadlines)
            event = await asyncio.wait_for(job.next_event(), 20)
            assert isinstance(event.error, DeadlineExceeded)
            job.end()
            await asyncio.sleep(0.05)

    asyncio.run(run())


def test_only_an_idle_connection_is_closed() -> None:
    """One that asks again and again stays open, however long ago it was opened."""
    model, _ = slow(0.0)
    with serving({"only": model}, idle=IDLE, receipt=60) as served, served.connect() as connection:
        began = time.monotonic()
        while time.monotonic() < began + 2.5 * IDLE:
            connection.sendall(QUESTION)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.1 * IDLE)
        asked = time.monotonic()
        assert connection.recv(65_536) == b""
        assert 0.5 * IDLE < time.monotonic() - asked < 20 * IDLE
