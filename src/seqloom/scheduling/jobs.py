"""Requests on their way through the model, and their inputs."""

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from seqloom.errors import SeqloomError
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.joining import join_by_input
from seqloom.prediction.output import Output, ScoredOutput
from seqloom.prediction.request import DecodingRequest, PendingInput
from seqloom.scheduling.errors import DeadlineExceeded, RequestCancelled

if TYPE_CHECKING:
    from seqloom.search import StableToken

__all__ = ["Deadlines", "Event", "Job", "RenderedOutput", "Ticket"]

ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
SMALL_COST = 2_000.0  # of a request that need not wait for larger ones


class RenderedOutput(NamedTuple):
    """An output in its serialized form, rendered where it was computed."""

    json: bytes
    tokens: int

    @classmethod
    def of(cls, output: "Output | ScoredOutput | RenderedOutput") -> "RenderedOutput":
        """Render an output, unless it is rendered already."""
        if isinstance(output, RenderedOutput):
            return output
        return cls.of_plain(output.as_dict(), len(output.tokens))

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any], tokens: int = 0) -> Self:
        """Plain values in JSON."""
        return cls(ENCODER.encode(plain).encode("utf-8", "replace"), tokens)

    def parse(self) -> Output:
        """The output that gave this JSON."""
        return Output.from_dict(json.loads(self.json))


class Event(NamedTuple):
    """News of an input of a request: a part of its output, its complete output (possibly with those
    of the following inputs), or an error.
    """

    number: int
    stable_tokens: "tuple[StableToken, ...]" = ()
    outputs: Sequence[RenderedOutput] = ()
    error: BaseException | None = None
    piece: int = 0  # index of a piece, for an input that is split


class Deadlines:
    """The deadlines of waiting jobs, all watched by one timer of their event loop."""

    def __init__(self) -> None:
        self._jobs: dict[Job, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf  # when the timer runs, by time.monotonic()

    def watch(self, job: "Job") -> None:
        """Let a job expire at its deadline, unless it ends before."""
        self._jobs[job] = None
        if job.deadline < self._due:
            self._start(job.deadline)

    def forget(self, job: "Job") -> None:
        """Watch a job no longer."""
        self._jobs.pop(job, None)

    def _start(self, due: float) -> None:
        """Run the timer at a time, which is earlier than before."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(due - time.monotonic(), self._check)

    def _check(self) -> None:
        """Expire what is due, and wait for the next deadline, if there is one."""
        now, self._timer, self._due = time.monotonic(), None, math.inf
        for job in [each for each in self._jobs if each.deadline <= now]:
            self.forget(job)
            job.expire()
        if self._jobs:
            self._start(min(each.deadline for each in self._jobs))


@dataclass(eq=False)
class Job:
    """A request. The event loop owns it; workers read it and report events through `tell`."""

    model: str
    deadline: float  # by time.monotonic()
    deliver: Callable[[list[tuple["Job", Event]]], None] = field(repr=False)
    streams: bool = False
    client: str = ""  # clients have equal shares of the work
    deadlines: Deadlines = field(default_factory=Deadlines, repr=False)  # of its event loop
    cost: float = 0.0  # of all its inputs
    pieces: dict[int, list[EncodedInput]] = field(default_factory=dict)  # of inputs that are split
    cancelled: bool = False  # set by the loop, seen by workers
    began: float = field(default_factory=time.monotonic)
    _events: deque[Event] = field(default_factory=deque)  # that nobody has read
    _reader: "asyncio.Future[None] | None" = None  # the reader waiting for an event
    _piece_outputs: dict[int, dict[int, RenderedOutput]] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Whether it is small, and need not wait for large ones."""
        return self.cost <= SMALL_COST

    def stop_reason(self, now: float) -> SeqloomError | None:
        """Why it must stop, if it must."""
        if self.cancelled:
            return RequestCancelled("the client has gone")
        return self.deadline_error() if now > self.deadline else None

    def give_up(self) -> None:
        """Cancel it, since its client has disconnected; called in the event loop."""
        self.cancelled = True
        self.put(Event(0, error=RequestCancelled("the client has gone")))

    def put(self, event: Event) -> None:
        """Add an event; called in the event loop."""
        self._events.append(event)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def next_event(self) -> Event:
        """The next event; DeadlineExceeded if there is none before the deadline.

        Pieces are joined; an input's event follows when all its pieces are done.
        """
        while True:
            while self._events:
                if (known := self._join_pieces(self._events.popleft())) is not None:
                    return known
            if self._reader is None:
                self.deadlines.watch(self)
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader

    def end(self) -> None:
        """Stop reading; anything unfinished is cancelled."""
        self.cancelled = True
        self.deadlines.forget(self)

    def expire(self) -> None:
        """Report that its deadline has passed; called in the event loop."""
        self.put(Event(0, error=self.deadline_error()))

    def _join_pieces(self, event: Event) -> Event | None:
        """The event, or that of the whole input when its last piece is done."""
        pieces = self.pieces.get(event.number)
        if pieces is None or not event.outputs:
            return event
        found = self._piece_outputs.setdefault(event.number, {})
        (found[event.piece],) = event.outputs
        if len(found) < len(pieces):
            return None
        whole = [piece._replace(number=0) for piece in pieces]
        outputs = [found[place].parse() for place in range(len(pieces))]
        (output,) = join_by_input(whole, outputs, 1)
        return Event(event.number, outputs=(RenderedOutput.of(output),))

    def deadline_error(self) -> DeadlineExceeded:
        """The error of an exceeded deadline."""
        allowed = math.ceil(self.deadline - self.began)
        return DeadlineExceeded(
            f"the request took longer than {allowed:,} seconds",
            remedy="send fewer inputs at a time, or ask for a server with a longer deadline",
        )


@dataclass(eq=False)
class Ticket:
    """One input of a request to decode, or several to process as a whole."""

    job: Job
    encoded: EncodedInput | None = None
    request: DecodingRequest | None = None  # as which the encoded input is decoded
    work: Callable[[], Sequence[RenderedOutput]] | None = None  # replaces decoding
    number: int = 0
    piece: int = 0  # index of a piece, for an input that is split
    rows: int = 1  # hypotheses in its search
    cost: float = 1.0  # upper bound of the positions read for it
    whole: bool = False  # whether it can be searched in one go, and soon enough
    losses: int = 0  # processes that ended while decoding it
    streamed_count: int = 0  # tokens streamed so far
    isolated: bool = False  # set after a failure, its own or in its batch

    @property
    def pending(self) -> PendingInput["Ticket"] | None:
        """Its input as batches take it; None for other work. A ticket that kept it would refer to
        itself.
        """
        if self.encoded is None or self.request is None:
            return None
        return PendingInput(self, self.encoded, self.number, self.request)

    @property
    def streams(self) -> bool:
        """Whether tokens are streamed before the output is complete; not for pieces."""
        return self.job.streams and self.number not in self.job.pieces

    @property
    def in_one_go(self) -> bool:
        """Whether it is searched in one go: no partial output is needed."""
        return self.whole and not self.streams
