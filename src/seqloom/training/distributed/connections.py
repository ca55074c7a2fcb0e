"""Connections between ranks, on which each sends to all others at once.

A message has a header with its number and length. A rank reads only messages of the length that it
expects, into memory that it has prepared.
"""

import selectors
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress

from seqloom.errors import RunError
from seqloom.remedies import Phrase

__all__ = ["QUIETLY", "SLICE", "PeerConnections", "PeerLostError", "PeerSilentError"]

SLICE = 0.2  # seconds without a byte, after which the caller's check is called
HEADER = struct.Struct("!QQ")  # the number of a message, and its length in bytes
QUIETLY = getattr(socket, "MSG_NOSIGNAL", 0)  # no SIGPIPE if the other end is gone
IDLE = 60  # seconds after which the system probes a connection, so that firewalls do not forget it
LOST, AGAIN = "a worker was lost", "give the same command again to go on"


class PeerLostError(RunError):
    """Another worker has ended, hangs or cannot be reached; the weights are those of the last
    complete update.
    """

    def __init__(self, problem: str = LOST, *, remedy: Phrase = AGAIN) -> None:
        super().__init__(problem, remedy=remedy)


class PeerSilentError(PeerLostError):
    """Another worker gives no sign of life, or does not answer."""


class PeerConnections:
    """A TCP connection to each other rank. They are closed for good after any error."""

    def __init__(self, sockets: Mapping[int, socket.socket]) -> None:
        self._sockets = sockets
        self._number = 0  # of messages so far
        self._closed = False
        for each in sockets.values():
            _prepare(each)

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for each in self._sockets.values():
            each.close()

    def transfer(
        self,
        outgoing: Mapping[int, memoryview],
        incoming: Mapping[int, memoryview],
        check: Callable[[], None],
    ) -> None:
        """Send bytes to some ranks while receiving from some; `incoming` is filled.

        `check` is called now and then while nothing arrives, and may raise. PeerLostError if a
        rank has ended or sends a message of another length.
        """
        if self._closed:
            raise PeerLostError
        self._number += 1
        streams = [
            _Stream(self._sockets[rank], rank, self._number, outgoing.get(rank), incoming.get(rank))
            for rank in outgoing.keys() | incoming.keys()
        ]
        try:
            _run(streams, check)
        except BaseException as error:
            self.close()  # messages may be cut off in the middle
            if isinstance(error, OSError):
                raise PeerLostError from error
            raise


class _Stream:
    """What is left to send to a rank and to receive from it."""

    def __init__(
        self,
        connection: socket.socket,
        rank: int,
        number: int,
        outgoing: memoryview | None,
        incoming: memoryview | None,
    ) -> None:
        self.socket = connection
        self._rank, self._number = rank, number
        self._header = bytearray(HEADER.size)
        self._expected = 0 if incoming is None else incoming.nbytes
        self._unsent: list[memoryview] = []
        self._unread: list[memoryview] = []
        if outgoing is not None:
            header = HEADER.pack(number, outgoing.nbytes)
            self._unsent = [memoryview(header), *([outgoing] if outgoing.nbytes else [])]
        if incoming is not None:
            self._unread = [memoryview(self._header), *([incoming] if incoming.nbytes else [])]

    @property
    def events(self) -> int:
        """The events to wait for; 0 once all is done."""
        reading = selectors.EVENT_READ if self._unread else 0
        return reading | (selectors.EVENT_WRITE if self._unsent else 0)

    def send(self) -> None:
        """Send as much as the system takes at once."""
        with suppress(BlockingIOError):
            while self._unsent:
                _advance(self._unsent, self.socket.send(self._unsent[0], QUIETLY))

    def receive(self) -> None:
        """Receive some of what has arrived."""
        part = self._unread[0]
        with suppress(BlockingIOError):
            count = self.socket.recv_into(part)
            if not count:
                raise ConnectionResetError
            _advance(self._unread, count)
            if count == part.nbytes and part.obj is self._header:
                self._check_header()

    def _check_header(self) -> None:
        number, length = HEADER.unpack(self._header)
        if (number, length) != (self._number, self._expected):
            raise PeerLostError(
                f"rank {self._rank} has sent {length} bytes as message {number}, not "
                f"{self._expected} as message {self._number}",
                remedy="start all ranks with the same version, data and options",
            )


def _run(streams: list[_Stream], check: Callable[[], None]) -> None:
    """Send and receive until all is done."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            stream.send()
            if stream.events:
                selector.register(stream.socket, stream.events, stream)
        while selector.get_map():
            ready = selector.select(SLICE)
            for key, events in ready:
                _serve(selector, key.data, events)
            if not ready:
                check()


def _serve(selector: selectors.BaseSelector, stream: _Stream, events: int) -> None:
    before = stream.events
    if events & selectors.EVENT_READ:
        stream.receive()
    if events & selectors.EVENT_WRITE:
        stream.send()
    if not stream.events:
        selector.unregister(stream.socket)
    elif stream.events != before:
        selector.modify(stream.socket, stream.events, stream)


def _advance(parts: list[memoryview], count: int) -> None:
    """Drop the first bytes of the first part."""
    if count == parts[0].nbytes:
        parts.pop(0)
    else:
        parts[0] = parts[0][count:]


def _prepare(connection: socket.socket) -> None:
    """Send without delay, return at once, and keep an idle connection known to firewalls."""
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE)
