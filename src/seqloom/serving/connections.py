"""Deadlines for slow clients, which uvicorn has none of its own for (RELIABILITY D3)."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["protocol"]


class DeadlineProtocol(H11Protocol):
    """A connection that is cut where a request or the taking of an answer is late."""

    receipt: ClassVar[float]  # seconds in which a request must arrive or an answer be taken
    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
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
            self._stuck = self.loop.call_later(self.receipt, self._cut)

    def on_response_complete(self) -> None:
        self._expect()  # first: the next request may be there already
        if self._stuck is not None and not self.transport.get_write_buffer_size():
            self._stuck.cancel()
            self._stuck = None
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self._cut()
        else:
            super().timeout_keep_alive_handler()

    def _expect(self) -> None:
        """From now on a whole request is awaited."""
        if self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.receipt, self._cut)

    def _cut(self, *_: Any) -> None:
        self.transport.abort()

    def _disarm(self) -> None:
        for timer in (self._late, self._stuck):
            if timer is not None:
                timer.cancel()


def protocol(receipt: float) -> type[DeadlineProtocol]:
    """A connection on which a request, headers and body, must arrive within so many seconds.

    As long may an answer wait that the client does not take. Then the connection is cut.
    """
    return type("DeadlineProtocol", (DeadlineProtocol,), {"receipt": receipt})
