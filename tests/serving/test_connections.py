"""RELIABILITY D9: however many connections one client holds, others are served."""

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.counts import count
from tests.serving.support import Served, serving
from tests.serving.wrapped import endless, slow

pytestmark = pytest.mark.faults

HALF_A_REQUEST = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n"


def connect(served: Served, address: str) -> socket.socket:
    """A connection from an address of the loopback."""
    return socket.create_connection(
        ("127.0.0.1", served.port), timeout=30, source_address=(address, 0)
    )


def hold(served: Served, address: str, number: int, stack: ExitStack) -> list[socket.socket]:
    """So many connections with half a request each."""
    made = []
    for _ in range(number):
        made.append(stack.enter_context(connect(served, address)))
        made[-1].sendall(HALF_A_REQUEST)
    return made


def ask(served: Served, address: str, path: str) -> tuple[int, str | None]:
    """The status of a GET from an address, and when to come back."""
    return read(served, address, path)[:2]


def read(served: Served, address: str, path: str) -> tuple[int, str | None, bytes]:
    """The same with the body."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", served.port, timeout=30, source_address=(address, 0)
    )
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("retry-after"), answer.read()
    finally:
        connection.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has ended a connection on which it owes nothing."""
    connection.settimeout(0.5)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.fixture
def small() -> Iterator[Served]:
    """A server with room for twelve connections, eight from one address."""
    model, _ = slow(0.0)
    with serving({"only": model}, connections=12, client_connections=8) as served:
        yield served


def test_more_connections_than_there_may_be() -> None:
    """1,005 half-open ones from one address: it and others are answered as before."""
    model, _ = slow(0.0)
    number = count(300, 1_005)
    with serving({"only": model}, connections=number - 5) as served, ExitStack() as stack:
        hold(served, "127.0.0.1", number, stack)
        for address in ("127.0.0.1", "127.0.0.2"):
            for path in ("/live", "/ready", "/metrics"):
                assert ask(served, address, path) == (200, None)
        assert served.predict("abc").status == 200


def test_a_client_makes_room_for_itself(small: Served) -> None:
    """Its oldest connection without a request goes; those of others stay."""
    with ExitStack() as stack:
        (other,) = hold(small, "127.0.0.2", 1, stack)
        held = hold(small, "127.0.0.3", 9, stack)
        assert [is_closed(each) for each in held] == [True] + [False] * 8
        assert not is_closed(other)


def test_the_one_with_most_makes_room_for_others(small: Served) -> None:
    """Beyond the limit of all, whoever comes."""
    with ExitStack() as stack:
        many = hold(small, "127.0.0.2", 8, stack)
        few = [*hold(small, "127.0.0.3", 4, stack), *hold(small, "127.0.0.4", 2, stack)]
        assert sum(map(is_closed, many)) == 2
        assert not any(map(is_closed, few))


def test_health_is_told_where_every_connection_is_at_work() -> None:
    """No place can be made: `/live` answers, the rest is asked to come back."""
    model, _ = endless(0.01)
    with (
        serving({"only": model}, connections=3, client_connections=2) as served,
        ExitStack() as stack,
    ):
        body = b'{"inputs": ["abc"]}'
        head = HALF_A_REQUEST + b"Content-Type: application/json\r\n"
        for _ in range(2):
            connection = stack.enter_context(connect(served, "127.0.0.1"))
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        while b"accepted_total 2.0" not in read(served, "127.0.0.9", "/metrics")[2]:
            time.sleep(0.01)
        assert ask(served, "127.0.0.1", "/live") == (200, None)
        assert ask(served, "127.0.0.1", "/ready") == (503, "1")
        assert ask(served, "127.0.0.2", "/ready") == (200, None)
