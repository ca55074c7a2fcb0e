"""Connections: deadlines for slow clients, for which uvicorn has none of its own, and room for all
clients, however many connections one of them opens (RELIABILITY D3, D9)."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["CROWDED", "DISCONNECTION", "ConnectionRoom", "Disconnection", "protocol"]

DISCONNECTION = "disconnection"  # in the state of a request: that of its connection
CROWDED = "crowded"  # in the state of a request whose connection is beyond the limits
CONTINUE = b"HTTP/1.1 100 "  # the beginning of an answer before the answer
HEADERS = 16_384  # bytes of a request line with all headers
RESERVE = 64  # connections beyond the limits, on which nothing but health checks is answered


class ConnectionRoom:
    """The open connections, of which each address and all together have so many.

    A newcomer takes the place of the connection that has waited longest for a request: of its own
    address where that has too many, else of the address that has most.
    """

    def __init__(self, most: int, per_client: int) -> None:
        self.most = most
        self.per_client = per_client
        self._open: dict[str, dict[DeadlineProtocol, None]] = {}  # by address, oldest first
        self._count = 0

    def enter(self, connection: "DeadlineProtocol") -> bool:
        """Whether there is room for it, or has been made."""
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
        """It is closed, or about to be."""
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
    """Tells those who work for a client that it has gone."""

    def __init__(self) -> None:
        self._happened = False
        self._watchers: list[Callable[[], None]] = []

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        """While this lasts, `tell` is called when the client goes, or at once if it has gone."""
        self._watchers.append(tell)
        if self._happened:
            tell()
        try:
            yield
        finally:
            self._watchers.remove(tell)

    def happen(self) -> None:
        """The client has gone."""
        self._happened = True
        for tell in list(self._watchers):
            tell()


class JoinedWrites:
    """A connection as its answers see it: the head of each is sent with what follows it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None  # of the answer that has begun

    def write(self, data: bytes) -> None:
        """Send what is not a head."""
        if self._head is None and not data.startswith(CONTINUE):
            self._head = data
            return
        self._transport.write(self._head + data if self._head else data)
        self._head = self._head and b""

    def end_answer(self) -> None:
        """Send a head that nothing follows; what comes next is another."""
        if self._head:
            self._transport.write(self._head)
        self._head = None

    def close(self) -> None:
        """Send everything and close."""
        self.end_answer()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is closed or about to be."""
        return self._transport.is_closing()


class DeadlineProtocol(HttpToolsProtocol):
    """A connection that is cut where a request or the taking of an answer is late."""

    receipt: ClassVar[float]  # seconds in which a request must arrive or an answer be taken
    room: ClassVar[ConnectionRoom]
    _writes: JoinedWrites
    _disconnection: Disconnection
    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _in_head = False  # whether a request line or headers are incomplete
    _head_size = 0  # bytes that have arrived of these since the read that they began in

    @property
    def address(self) -> str:
        """Of the client, without its port."""
        return self.client[0] if self.client else ""

    @property
    def awaits_request(self) -> bool:
        """Whether no whole request has arrived since the last answer."""
        return self._late is not None

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
        was_in_head = self._in_head
        super().data_received(data)
        self._head_size = self._head_size + len(data) if was_in_head and self._in_head else 0
        if self._head_size > HEADERS and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEADERS:
            raise ValueError("the headers are too large")  # the parser answers with 400
        super().on_headers_complete()
        self.cycle.transport = self._writes  # type: ignore[assignment]

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self._late is not None:
            self._late.cancel()
            self._late = None

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
        super().on_response_complete()

    def _taken(self) -> None:
        """The client has taken the answer."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.cut()
        else:
            super().timeout_keep_alive_handler()

    def cut(self, *_: Any) -> None:
        """End the connection at once."""
        self.transport.abort()

    def _expect(self) -> None:
        """From now on a whole request is awaited."""
        if self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.receipt, self.cut)

    def _disarm(self) -> None:
        for timer in (self._late, self._stuck):
            if timer is not None:
                timer.cancel()


def protocol(receipt: float, room: ConnectionRoom) -> type[DeadlineProtocol]:
    """A connection on which a request, headers and body, must arrive within so many seconds.

    As long may an answer wait that the client does not take. Then the connection is cut.
    """
    return type("DeadlineProtocol", (DeadlineProtocol,), {"receipt": receipt, "room": room})
