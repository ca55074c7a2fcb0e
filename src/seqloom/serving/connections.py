"""Connections: deadlines for slow clients, which uvicorn lacks, and fair limits on the number of
connections per client (RELIABILITY D3, D9).
"""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

__all__ = [
    "ANSWER",
    "CROWDED",
    "DISCONNECTION",
    "ConnectionRoom",
    "Disconnection",
    "Requester",
    "protocol",
]

ANSWER = "answer"  # key in a request's state: sends a whole response
DISCONNECTION = "disconnection"  # key in a request's state: notifies of disconnection
CROWDED = "crowded"  # key in a request's state: its connection exceeds the limits
CONTINUE = b"HTTP/1.1 100 "  # the start of an interim response
HEADERS = 16_384  # bytes of a request line with all headers
RESERVE = 64  # connections beyond the limits, which serve health checks alone


class ConnectionRoom:
    """The open connections, limited in total and per address.

    A newcomer replaces the connection that has been idle longest: one of its own address if that
    exceeds its limit, else one of the address with most connections.
    """

    def __init__(self, most: int, per_client: int) -> None:
        self.most = most
        self.per_client = per_client
        self._open: dict[str, dict[DeadlineProtocol, None]] = {}  # by address, oldest first
        self._count = 0

    def enter(self, connection: "DeadlineProtocol") -> bool:
        """Whether there is room, possibly after closing another connection."""
        own = self._open.setdefault(connection.address, {})
        own[connection] = None
        self._count += 1
        if len(own) > self.per_client:
            crowd = own
        elif self._count > self.most:
            crowd = max(self._open.values(), key=len)
        else:
            return True
        idle = (each for each in crowd if each.awaits_request and each is not connection)
        oldest = next(idle, None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.cut()
        return True

    def leave(self, connection: "DeadlineProtocol") -> None:
        """Remove a connection that is closed or closing."""
        own = self._open.get(connection.address, {})
        if connection in own:
            del own[connection]
            self._count -= 1
            if not own:
                del self._open[connection.address]

    @property
    def overfull(self) -> bool:
        """Whether even the reserve is used up."""
        return self._count > self.most + RESERVE


class Disconnection:
    """Notifies of a client's disconnection."""

    def __init__(self) -> None:
        self._happened = False
        self._watchers: list[Callable[[], None]] = []

    def watched(self, tell: Callable[[], None]) -> "Watch":
        """Within the block, `tell` is called when the client disconnects, or at once if it has."""
        return Watch(self, tell)

    def watch(self, tell: Callable[[], None]) -> None:
        """Call `tell` when the client disconnects, or at once if it has."""
        self._watchers.append(tell)
        if self._happened:
            tell()

    def forget(self, tell: Callable[[], None]) -> None:
        """Call it no longer."""
        self._watchers.remove(tell)

    def happen(self) -> None:
        """Notify: the client has disconnected."""
        self._happened = True
        for tell in list(self._watchers):
            tell()


class Watch(NamedTuple):
    """A block in which a client's disconnection is watched."""

    connection: Disconnection
    tell: Callable[[], None]

    def __enter__(self) -> None:
        self.connection.watch(self.tell)

    def __exit__(self, *_: object) -> None:
        self.connection.forget(self.tell)


class Requester(NamedTuple):
    """The sender of a request."""

    address: str
    connection: Disconnection


class JoinedWrites:
    """A transport for responses that sends each head together with what follows."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None  # of the current response

    def write(self, data: bytes) -> None:
        """Send data other than a head."""
        if self._head is None and not data.startswith(CONTINUE):
            self._head = data
            return
        self._transport.write(self._head + data if self._head else data)
        self._head = self._head and b""

    def end_answer(self) -> None:
        """Send a head without a body; another response follows."""
        if self._head:
            self._transport.write(self._head)
        self._head = None

    def close(self) -> None:
        """Flush and close."""
        self.end_answer()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()


class DeadlineProtocol(HttpToolsProtocol):
    """A connection that is aborted if a request or the reading of a response takes too long."""

    receipt: ClassVar[float]  # seconds for a request to arrive or a response to be read
    room: ClassVar[ConnectionRoom]
    _writes: JoinedWrites
    _disconnection: Disconnection
    _due: float | None = None  # deadline of the whole request, by the loop's clock
    _idle_end: float | None = None  # when a connection without a request is closed
    _watch: asyncio.TimerHandle | None = None  # checks both
    _stuck: asyncio.TimerHandle | None = None
    _in_head = False  # whether a request line or headers are incomplete
    _head_size = 0  # their bytes received, from the read in which they began

    @property
    def address(self) -> str:
        """The client's address without port."""
        return self.client[0] if self.client else ""

    @property
    def awaits_request(self) -> bool:
        """Whether the next request is not complete yet."""
        return self._due is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._writes = JoinedWrites(transport)
        self._disconnection = Disconnection()
        self.app_state = {**self.app_state, DISCONNECTION: self._disconnection}
        if not self.room.enter(self):
            self.app_state = {**self.app_state, CROWDED: True}
            if self.room.overfull:
                self.cut()
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.room.leave(self)
        self._disconnection.happen()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head, self._idle_end = self._in_head, None
        super().data_received(data)
        self._head_size = self._head_size + len(data) if was_in_head and self._in_head else 0
        if self._head_size > HEADERS and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        if size > HEADERS:
            raise ValueError("the headers are too large")  # the parser responds with 400
        super().on_headers_complete()
        self.cycle.transport = self._writes  # type: ignore[assignment]
        self.scope["state"][ANSWER] = partial(self._answer, self.cycle)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._due = None

    def _answer(self, cycle: RequestResponseCycle, head: bytes, body: bytes) -> bool:
        """Send a whole response of status 200, unless the client is gone or not reading; return
        whether it was sent. This is several times faster than a head and a body.
        """
        if cycle.disconnected or cycle.response_started or self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        own = b"".join([b"%b: %b\r\n" % pair for pair in cycle.default_headers])
        if not cycle.keep_alive:
            own += b"connection: close\r\n"
        self.transport.write(b"%b%b%b\r\n%b" % (STATUS_LINE[200], own, head, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.receipt, self.cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.cycle.response_complete:
            self._taken()

    def on_response_complete(self) -> None:
        self._writes.end_answer()
        following = self.pipeline[-1][0] if self.pipeline else None
        if following is None or following.more_body:
            self._expect()
        if not self.transport.get_write_buffer_size():
            self._taken()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._idle_end = self.loop.time() + self.timeout_keep_alive
            self._check_by(self._idle_end)

    def _taken(self) -> None:
        """The client has read the response."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _end_idle(self) -> None:
        """Close an idle connection; abort it if its client has not read the last response."""
        if self.transport.get_write_buffer_size():
            self.cut()
        else:
            self.transport.close()

    def cut(self, *_: Any) -> None:
        """Abort the connection."""
        self.transport.abort()

    def _expect(self) -> None:
        """Start the deadline of the next request."""
        if self._due is None and not self.transport.is_closing():
            self._due = self.loop.time() + self.receipt
            self._check_by(self._due)

    def _check_by(self, end: float) -> None:
        """Check the deadlines at this time, unless they are checked before."""
        if self._watch is not None and self._watch.when() > end:
            self._watch.cancel()
            self._watch = None
        if self._watch is None:
            self._watch = self.loop.call_at(end, self._check_deadlines)

    def _check_deadlines(self) -> None:
        """End the connection if a request is late or none comes; else check again at the next
        deadline.

        A request that arrives in time thus needs no timer of its own.
        """
        now, self._watch = self.loop.time(), None
        if self._due is not None and self._due <= now:
            self.cut()
        elif self._idle_end is not None and self._idle_end <= now:
            self._end_idle()
        for end in (self._due, self._idle_end):
            if end is not None and end > now:
                self._check_by(end)

    def _disarm(self) -> None:
        for timer in (self._watch, self._stuck):
            if timer is not None:
                timer.cancel()


def protocol(receipt: float, room: ConnectionRoom) -> type[DeadlineProtocol]:
    """A connection class with a deadline in seconds for requests, headers and body.

    The deadline also applies to a client's reading of a response. After it the connection is
    aborted.
    """
    return type("DeadlineProtocol", (DeadlineProtocol,), {"receipt": receipt, "room": room})
