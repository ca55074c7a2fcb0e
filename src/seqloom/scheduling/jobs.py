"""Requests on their way through the model, and their inputs."""

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import SeqloomError
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.joining import join_by_input
from seqloom.prediction.output import Output, ScoredOutput
from seqloom.prediction.request import PendingInput
from seqloom.scheduling.errors import DeadlineExceeded, RequestCancelled

if TYPE_CHECKING:
    from seqloom.search import StableToken

__all__ = ["Event", "Job", "RenderedOutput", "Ticket"]

ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
SMALL_COST = 2_000.0  # of a request that need not wait for larger ones


@dataclass(frozen=True)
class RenderedOutput:
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


@dataclass(frozen=True)
class Event:
    """News of an input of a request: a part of its output, its complete output (possibly with those
    of the following inputs), or an error.
    """

    number: int
    stable_tokens: "tuple[StableToken, ...]" = ()
    outputs: Sequence[RenderedOutput] = ()
    error: BaseException | None = None
    piece: int = 0  # index of a piece, for an input that is split


@dataclass(eq=False)
class Job:
    """A request. The event loop owns it; workers read it and report events through `tell`."""

    model: str
    deadline: float  # by time.monotonic()
    deliver: Callable[[list[tuple["Job", Event]]], None] = field(repr=False)
    streams: bool = False
    client: str = ""  # clients have equal shares of the work
    cost: float = 0.0  # of all its inputs
    pieces: dict[int, list[EncodedInput]] = field(default_factory=dict)  # of inputs that are split
    cancelled: bool = False  # set by the loop, seen by workers
    began: float = field(default_factory=time.monotonic)
    _events: deque[Event] = field(default_factory=deque)  # that nobody has read
    _reader: "asyncio.Future[None] | None" = None  # the reader waiting for an event
    _timer: asyncio.TimerHandle | None = None
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
            loop = asyncio.get_running_loop()
            if self._timer is None:
                self._timer = loop.call_later(self.deadline - time.monotonic(), self._expire)
            self._reader = loop.create_future()
            await self._reader

    def end(self) -> None:
        """Stop reading; anything unfinished is cancelled."""
        self.cancelled = True
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
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
    pending: PendingInput["Ticket"] | None = None
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
    def streams(self) -> bool:
        """Whether tokens are streamed before the output is complete; not for pieces."""
        return self.job.streams and self.number not in self.job.pieces

    @property
    def in_one_go(self) -> bool:
        """Whether it is searched in one go: no partial output is needed."""
        return self.whole and not self.streams
