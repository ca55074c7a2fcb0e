"""Requests on their way through the model, and the inputs that they consist of."""

import asyncio
import json
import math
import time
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

SMALL_COST = 2_000.0  # of a request that need not wait for larger ones to be put aside


@dataclass(frozen=True)
class RenderedOutput:
    """An output as it is sent, written where it was computed."""

    json: bytes
    tokens: int

    @classmethod
    def of(cls, output: "Output | ScoredOutput | RenderedOutput") -> "RenderedOutput":
        """The output in JSON, unless it is already."""
        if isinstance(output, RenderedOutput):
            return output
        return cls.of_plain(output.as_dict(), len(output.tokens))

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any], tokens: int = 0) -> Self:
        """Plain values in JSON."""
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return cls(text.encode("utf-8", "replace"), tokens)

    def parse(self) -> Output:
        """The output that gave this JSON."""
        return Output.from_dict(json.loads(self.json))


@dataclass(frozen=True)
class Event:
    """What became known of an input of a request: more of its output, all of it and perhaps those
    of the inputs after it, or an error."""

    number: int
    stable_tokens: "tuple[StableToken, ...]" = ()
    outputs: Sequence[RenderedOutput] = ()
    error: BaseException | None = None
    piece: int = 0  # of an input that is split


@dataclass(eq=False)
class Job:
    """A request. The loop owns it; workers read it and hand events over through `tell`."""

    model: str
    deadline: float  # by time.monotonic()
    deliver: Callable[[list[tuple["Job", Event]]], None] = field(repr=False)
    streams: bool = False
    client: str = ""  # who asks: those who do have equal shares of the work
    cost: float = 0.0  # of all its inputs
    pieces: dict[int, list[EncodedInput]] = field(default_factory=dict)  # of inputs that are split
    cancelled: bool = False  # set by the loop, seen by workers
    events: "asyncio.Queue[Event]" = field(default_factory=asyncio.Queue)
    began: float = field(default_factory=time.monotonic)
    _piece_outputs: dict[int, dict[int, RenderedOutput]] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Whether it is soon done, and need not wait for those that are not."""
        return self.cost <= SMALL_COST

    def stop_reason(self, now: float) -> SeqloomError | None:
        """Why it is not to go on, if it is not."""
        if self.cancelled:
            return RequestCancelled("the client has gone")
        return self._deadline_error() if now > self.deadline else None

    def give_up(self) -> None:
        """Let it end, since its client has gone; called in the loop."""
        self.cancelled = True
        self.events.put_nowait(Event(0, error=RequestCancelled("the client has gone")))

    async def next_event(self) -> Event:
        """What becomes known next; that it is late, where nothing does before the deadline.

        The outputs of pieces are joined, and known once all of an input are.
        """
        try:
            async with asyncio.timeout(self.deadline - time.monotonic()):
                while (known := self._join_pieces(await self.events.get())) is None:
                    pass
                return known
        except TimeoutError:
            return Event(0, error=self._deadline_error())

    def _join_pieces(self, event: Event) -> Event | None:
        """The event, or that of the whole input where its last piece is done."""
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

    def _deadline_error(self) -> DeadlineExceeded:
        allowed = math.ceil(self.deadline - self.began)
        return DeadlineExceeded(
            f"the request took longer than {allowed:,} seconds",
            remedy="send fewer inputs at a time, or ask for a server with a longer deadline",
        )


@dataclass(eq=False)
class Ticket:
    """One input of a request that is decoded, or several that are worked on as a whole."""

    job: Job
    pending: PendingInput["Ticket"] | None = None
    work: Callable[[], Sequence[RenderedOutput]] | None = None  # in place of decoding
    number: int = 0
    piece: int = 0  # of an input that is split
    rows: int = 1  # paths that it is searched by
    cost: float = 1.0  # positions that are read for it, at most
    whole: bool = False  # whether it can be searched for in one go, and soon enough
    losses: int = 0  # processes that ended while they decoded it
    streamed_count: int = 0  # tokens that were streamed
    isolated: bool = False  # because something beside it, or it, has failed

    @property
    def streams(self) -> bool:
        """Whether tokens are told before the output is whole; not those of a piece."""
        return self.job.streams and self.number not in self.job.pieces

    @property
    def in_one_go(self) -> bool:
        """Whether it is searched for as a whole: nobody has to know of it before its output."""
        return self.whole and not self.streams
