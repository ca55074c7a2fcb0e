"""Clients of a server for benchmarks: many connections in one process, raw sockets and one epoll.

The clients share the processor with the server they measure, so they do little: requests are built
beforehand, and only the status and the length of an answer are read.
"""

import heapq
import json
import random
import select
import socket
import time
from collections.abc import Iterator, Sequence
from math import inf

__all__ = ["Connection", "Tally", "closed_loop", "mixed_loop", "open_loop", "predict_request"]

REFUSED = (429, 503)
PATIENCE = 120.0  # seconds to wait for answers after the last request


def predict_request(lines: list[str], beam: int) -> bytes:
    """A whole HTTP request for the outputs of some lines."""
    search = {"kind": "beam", "width": beam} if beam > 1 else {"kind": "greedy"}
    body = json.dumps({"inputs": lines, "search": search}).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n".encode() + body


class Tally:
    """Results of requests: latencies of those answered, and counts of those refused or lost."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.refused = self.lost = 0
        self.began = self.ended = time.perf_counter()
        self.processor = 0.0  # processor seconds of the clients
        self._used = time.process_time()

    def end(self) -> "Tally":
        """Stop counting."""
        self.ended = time.perf_counter()
        self.processor = time.process_time() - self._used
        return self

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.seconds) / (self.ended - self.began)

    def quantile(self, share: float) -> float:
        """A quantile of the latencies in milliseconds."""
        ordered = sorted(self.seconds) or [float("nan")]
        return 1_000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def summary(self) -> dict[str, float]:
        """The rate and latencies of answered requests, and the counts of others."""
        return {
            "rate": self.rate,
            "median": self.quantile(0.5),
            "tail": self.quantile(0.99),
            "answered": len(self.seconds),
            "refused": self.refused,
            "lost": self.lost,
            "processor": self.processor / (self.ended - self.began),
        }


class Connection:
    """A connection that sends a request and receives its answer."""

    def __init__(self, port: int, tally: Tally) -> None:
        self.tally = tally
        self._port = port
        self._socket: socket.socket | None = None
        self._received = b""
        self._began = 0.0
        self._awaits = False  # whether a request is unanswered

    def send(self, request: bytes, began: float) -> int:
        """Send a request that was due at a time; the file number to wait for."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._began, self._received, self._awaits = began, b"", True
        self._socket.sendall(request)
        return self._socket.fileno()

    def receive(self) -> float | None:
        """Receive data; count the answer once complete. Return the seconds to wait before the next
        request, above 0 after a refusal, or None if the answer is incomplete.
        """
        if self._socket is None:
            return 0.0
        try:
            part = self._socket.recv(262_144)
        except OSError:
            part = b""
        if not part:
            self.tally.lost += self._awaits  # the server may close a connection that is idle
            self.close()
            return 0.0
        self._received += part
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self._received[:end].lower()
        length = int(head.partition(b"content-length:")[2].split(None, 1)[0])
        if len(self._received) < end + 4 + length:
            return None
        return self._count(int(head[9:12]), head)

    def _count(self, status: int, head: bytes) -> float:
        self._awaits = False
        if b"connection: close" in head:
            self.close()
        if status == 200:
            self.tally.seconds.append(time.perf_counter() - self._began)
            return 0.0
        wait = head.partition(b"retry-after:")[2].split(None, 1)
        if status in REFUSED and wait:
            self.tally.refused += 1
            return float(wait[0])
        self.tally.lost += 1
        return 0.0

    @property
    def is_open(self) -> bool:
        """Whether the next request goes over the same connection."""
        return self._socket is not None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket, self._awaits = None, False


class _Connections:
    """All connections, and those of them that wait for answers."""

    def __init__(self) -> None:
        self.waiting: set[Connection] = set()
        self._poll = select.epoll()
        self._by_number: dict[int, Connection] = {}

    def send(self, connection: Connection, request: bytes, began: float) -> None:
        """Send a request and wait for its answer; one that cannot be sent counts as lost."""
        is_new = not connection.is_open
        try:
            number = connection.send(request, began)
        except OSError:
            connection.tally.lost += 1
            connection.close()
            return
        self.waiting.add(connection)
        if is_new:
            self._by_number[number] = connection
            self._poll.register(number, select.EPOLLIN)

    def answered(self, until: float) -> Iterator[tuple[Connection, float]]:
        """Yield connections whose answers arrive in time, with the seconds to wait."""
        for number, _ in self._poll.poll(max(0.0, until - time.perf_counter())):
            connection = self._by_number[number]
            wait = connection.receive()
            if wait is not None:
                self.waiting.discard(connection)
                yield connection, wait

    def end(self) -> None:
        """Close all connections; unanswered requests count as lost."""
        for connection in self._by_number.values():
            connection.close()
        self._poll.close()
        for connection in self.waiting:
            connection.tally.lost += 1


def closed_loop(port: int, pending: Iterator[bytes], clients: int, *, until: float = inf) -> Tally:
    """A closed loop: clients that wait for their answer before the next request, and for
    Retry-After after a refusal.
    """
    (tally,) = mixed_loop(port, [(pending, clients)], until=until)
    return tally


def mixed_loop(
    port: int, kinds: Sequence[tuple[Iterator[bytes], int]], *, until: float = inf
) -> list[Tally]:
    """A closed loop with several kinds of clients, each with its own results."""
    every, due, tallies = _Connections(), list[tuple[float, int, Connection]](), list[Tally]()
    source: dict[Connection, Iterator[bytes]] = {}
    for pending, clients in kinds:
        tallies.append(Tally())
        for _ in range(clients):
            connection = Connection(port, tallies[-1])
            source[connection] = pending
            due.append((0.0, len(due), connection))
    while (due or every.waiting) and (now := time.perf_counter()) < until + PATIENCE:
        while due and due[0][0] <= now:
            *_, connection = heapq.heappop(due)
            if now < until and (request := next(source[connection], None)) is not None:
                every.send(connection, request, time.perf_counter())
        soon = now + 1.0 if every.waiting or due else now
        for connection, wait in every.answered(min(due[0][0], soon) if due else soon):
            heapq.heappush(due, (time.perf_counter() + wait, id(connection), connection))
    every.end()
    return [tally.end() for tally in tallies]


def open_loop(port: int, pending: Iterator[bytes], rate: float, until: float) -> Tally:
    """An open loop: requests arrive as a Poisson process, whether or not others were answered."""
    every, chance, idle, tally = _Connections(), random.Random(1), list[Connection](), Tally()
    due = time.perf_counter()
    while (due < until or every.waiting) and (now := time.perf_counter()) < until + PATIENCE:
        while due <= min(now, until):
            every.send(idle.pop() if idle else Connection(port, tally), next(pending), due)
            due += chance.expovariate(rate)
        idle += [connection for connection, _ in every.answered(min(due, now + 1.0))]
    every.end()
    return tally.end()
