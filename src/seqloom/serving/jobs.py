"""Requests on their way through the model, and the inputs that they consist of."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from seqloom.errors import SeqloomError
from seqloom.prediction import Output, PendingInput
from seqloom.search import StableToken
from seqloom.serving.errors import DeadlineExceeded, RequestCancelled

__all__ = ["Event", "Job", "Ticket"]


@dataclass(frozen=True)
class Event:
    """What became known of one input of a request: more of its output, all of it, or an error."""

    number: int
    stable_tokens: tuple[StableToken, ...] = ()
    output: Output | None = None
    result: Any = None  # of work that is done as a whole
    error: BaseException | None = None


@dataclass(eq=False)
class Job:
    """A request. The loop owns it; workers read it and hand events over through `tell`."""

    model: str
    deadline: float  # by time.monotonic()
    deliver: Callable[[list[tuple["Job", Event]]], None] = field(repr=False)
    streams: bool = False
    work: Callable[[], Any] | None = None  # done as a whole, in place of inputs to decode
    cancelled: bool = False  # set by the loop, seen by workers
    events: "asyncio.Queue[Event]" = field(default_factory=asyncio.Queue)
    began: float = field(default_factory=time.monotonic)

    def stop_reason(self, now: float) -> SeqloomError | None:
        """Why it is not to go on, if it is not."""
        if self.cancelled:
            return RequestCancelled("the client has gone")
        return self._deadline_error() if now > self.deadline else None

    async def next_event(self) -> Event:
        """What becomes known next; that it is late, where nothing does before the deadline."""
        try:
            async with asyncio.timeout(self.deadline - time.monotonic()):
                return await self.events.get()
        except TimeoutError:
            return Event(0, error=self._deadline_error())

    def _deadline_error(self) -> DeadlineExceeded:
        allowed = math.ceil(self.deadline - self.began)
        return DeadlineExceeded(
            f"the request took longer than {allowed:,} seconds",
            remedy="send fewer inputs at a time, or ask for a server with a longer deadline",
        )


@dataclass(eq=False)
class Ticket:
    """One input of a request, or a request that is worked on as a whole."""

    job: Job
    pending: PendingInput["Ticket"] | None = None
    number: int = 0
    rows: int = 1  # paths that it is searched by
    streamed_count: int = 0  # tokens that were streamed
    isolated: bool = False  # because something beside it, or it, has failed
