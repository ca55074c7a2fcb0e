"""Connections: deadlines for slow clients, for which uvicorn has none of its own, and room for all
clients, however many connections one of them opens (RELIABILITY D3, D9)."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["CROWDED", "ConnectionRoom", "protocol"]

CROWDED = "crowded"  # in the state of a request whose connection is beyond the limits
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


class DeadlineProtocol(H11Protocol):
    """A connection that is cut where a request or the taking of an answer is late."""

    receipt: ClassVar[float]  # seconds in which a request must arrive or an answer be taken
    room: ClassVar[ConnectionRoom]
    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

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
        if not self.room.enter(self):
            self.app_state = {**self.app_state, CROWDED: True}
            if self.room.overfull:
                self.cut()
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.room.leave(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        cycle = self.cycle
        arrived = cycle is not None and not cycle.more_body and not cycle.response_complete
        if arrived and self._late is not None:
            self._late.cancel()
            self._late = None

    def shutdown(self) -> None:
        """Say in an answer that is still to come that it is the last."""
        if self.cycle is not None and not self.cycle.response_started:
            last = (b"connection", b"close")
            self.cycle.default_headers = [*self.cycle.default_headers, last]
        super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.receipt, self.cut)

    def on_response_complete(self) -> None:
        self._expect()  # first: the next request may be there already
        if self._stuck is not None and not self.transport.get_write_buffer_size():
            self._stuck.cancel()
            self._stuck = None
        super().on_response_complete()

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
