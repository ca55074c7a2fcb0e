"""RELIABILITY D3: clients that take their time are cut off, and hold nobody up."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.counts import count
from tests.serving.support import Served, serving
from tests.serving.wrapped import slow

pytestmark = pytest.mark.faults

RECEIPT = 1.0
PATIENCE = 20.0  # for a machine that is busy with other things
HEAD = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def hasty() -> Iterator[Served]:
    """A server that waits a second for requests, and for its answers to be taken."""
    model, _ = slow(0.0)
    with serving({"only": model}, receipt=RECEIPT, idle=1) as server:
        yield server


def says_nothing(connection: socket.socket) -> None:
    """It connects, and that is all."""


def drips_headers(connection: socket.socket) -> None:
    for (
        letter
    ) in b"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":
        connection.sendall(bytes([letter]))
        time.sleep(0.1)


def drips_a_body(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
    for _ in range(1_000):
        connection.sendall(b"a")
        time.sleep(0.1)


def drips_chunks(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(1_000):
        connection.sendall(b"1\r\na\r\n")
        time.sleep(0.1)


def drips_a_second_request(connection: socket.socket) -> None:
    connection.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    connection.recv(4_096)
    drips_headers(connection)


KINDS: list[Callable[[socket.socket], None]] = [
    says_nothing,
    drips_headers,
    drips_a_body,
    drips_chunks,
    drips_a_second_request,
]


def seconds_open(served: Served, kind: Callable[[socket.socket], None]) -> float:
    """How long the server bears with such a client."""
    with served.connect() as connection:
        connection.settimeout(PATIENCE)
        began = time.monotonic()
        writer = threading.Thread(target=quietly, args=(kind, connection), daemon=True)
        writer.start()
        try:
            while connection.recv(65_536):
                pass
        except ConnectionError:
            pass
        return time.monotonic() - began


def quietly(kind: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with suppress(OSError):  # it is cut off, as it should be
        kind(connection)


def wait_until_idle(served: Served) -> None:
    """Clients may see the end of a request before the server's loop forgets its task."""
    end = time.monotonic() + 3 * PATIENCE
    while served.server.server_state.tasks:
        assert time.monotonic() < end, served.server.server_state.tasks
        time.sleep(0.05)


def test_all_are_cut_off_and_nobody_else_waits(hasty: Served) -> None:
    """Five kinds at once; a client that behaves is answered all the time."""
    times: list[float] = []
    clients = [
        threading.Thread(target=lambda kind=kind: times.append(seconds_open(hasty, kind)))
        for kind in KINDS
        for _ in range(count(4, 40))
    ]
    for client in clients:
        client.start()
    for _ in range(5):
        assert hasty.predict("abc").status == 200
    for client in clients:
        client.join(PATIENCE)
    assert len(times) == len(clients)
    assert max(times) < PATIENCE
    wait_until_idle(hasty)


def test_an_answer_that_is_not_taken_is_dropped() -> None:
    """A large answer to a client that does not read it: the connection is cut."""
    model, _ = slow(0.0, min_extra=300, max_extra=300)
    with serving({"only": model}, receipt=RECEIPT) as served:
        body = b'{"inputs":["' + b"abc" * 10 + b'"],"attention":true,"alternatives":40,"n_best":40}'
        body = body.replace(b'"n_best":40', b'"n_best":40,"search":{"kind":"beam","width":40}')
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        end = time.monotonic() + 3 * PATIENCE
        while served.outcomes()["received"] < 1:
            assert time.monotonic() < end
            time.sleep(0.05)
        wait_until_idle(served)
        with suppress(ConnectionError):  # closed either way
            while connection.recv(65_536):
                pass
        connection.close()
