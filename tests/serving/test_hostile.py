"""RELIABILITY D1, D2: whatever bytes arrive, no answer is our fault, and memory is bounded."""

import json
import resource
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.counts import count
from tests.serving.support import Served

pytestmark = pytest.mark.faults

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"
BODIES: list[bytes] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"1" * 5_000,
    b"NaN",
    b'{"inputs": NaN}',
    b'{"inputs": ["a"], "n_best": Infinity}',
    b'{"inputs": ["\\ud800"]}',
    b'{"\\ud800": 1, "inputs": ["a"]}',
    b'{"inputs": ["a"], "model": "\\udfff"}',
    b'{"inputs": ["a\\u0000b"]}',
    b'{"inputs": ["\xff\xfe"]}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"inputs": [' + b"[" * 50_000,
    b'{"inputs": ["a"], "search": ' + b'{"search":' * 20_000,
    b'{"inputs": ["' + b"a" * 999_000,
    b'{"inputs": ["a"], "n_best": 1' + b"0" * 4_000 + b"}",
    b'{"inputs": ["a"], "n_best": 1e999}',
    b'{"inputs": ["a"], "n_best": true}',
    b'{"inputs": {"0": "a"}}',
    b'{"inputs": ["a"], "inputs": 3}',
    '{"inputs": ["\u202e\u0301\U0001f600"]}'.encode(),
    b"\xef\xbb\xbf{}",
]
RAW: list[bytes] = [
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET " + b"/a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX\x00: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\n" + HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\n" + HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    b"POST /v1/predict HTTP/1.1\r\n"
    + HEAD
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"POST /v1/predict HTTP/1.1\r\n"
    + HEAD
    + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc",
    b"GET /v1/predict HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: upgrade\r\n\r\n",
    b"DELETE /v1/predict HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%ff%fe%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def exchange(served: Served, *payloads: bytes, seconds: float = 30.0) -> list[bytes]:
    """What comes back for raw bytes on a connection each, until it closes or time is up."""
    connections = [served.connect() for _ in payloads]
    received = [b"" for _ in payloads]
    for connection, sent in zip(connections, payloads, strict=True):
        with suppress(ConnectionError):
            connection.sendall(sent)
    end = time.monotonic() + seconds
    for number, connection in enumerate(connections):
        with connection, suppress(ConnectionError, TimeoutError):
            connection.settimeout(max(0.01, end - time.monotonic()))
            while part := connection.recv(65_536):
                received[number] += part
                connection.settimeout(max(0.01, end - time.monotonic()))
    return received


def request_of(body: bytes, path: bytes = b"/v1/predict") -> bytes:
    size = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return b"POST " + path + b" HTTP/1.1\r\n" + HEAD + size + body


def assert_fine(received: bytes, sent: bytes) -> None:
    """Nothing at all, or an answer that is no fault of the server."""
    if received:
        status = int(received.split(b" ", 2)[1])
        assert 200 <= status < 500, (status, sent[:80])
        assert b"Traceback" not in received


@pytest.mark.parametrize("number", range(len(BODIES)))
@pytest.mark.parametrize("path", [b"/v1/predict", b"/v1/stream", b"/v1/score"])
def test_malformed_bodies(served: Served, number: int, path: bytes) -> None:
    sent = request_of(BODIES[number], path)
    (received,) = exchange(served, sent)
    assert received.startswith(b"HTTP/1.1 "), sent[:80]
    assert_fine(received, sent)


def test_malformed_requests(served: Served) -> None:
    for received, sent in zip(exchange(served, *RAW, seconds=2.0), RAW, strict=True):
        assert_fine(received, sent)
    assert served.ask("GET", "/live").status == 200


mutated = st.builds(
    lambda text, at, new: text[:at] + new + text[at + len(new) :],
    st.sampled_from([*RAW, *(request_of(body[:2_000]) for body in BODIES)]),
    st.integers(0, 300),
    st.binary(max_size=12),
)


@settings(max_examples=count(4, 40), suppress_health_check=list(HealthCheck), deadline=None)
@given(sent=st.lists(st.one_of(st.binary(max_size=200), mutated), min_size=25, max_size=25))
def test_fuzzed_bytes(served: Served, sent: list[bytes]) -> None:
    """D2: mutated requests and noise, 25 at a time."""
    for received, each in zip(exchange(served, *sent, seconds=1.0), sent, strict=True):
        assert_fine(received, each)


def test_memory_is_bounded(served: Served) -> None:
    """D2: endless chunks are cut at the limit; 20 MB more at most."""
    exchange(served, request_of(BODIES[-8]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(count(3, 30)):
        with served.connect() as connection:
            connection.sendall(
                b"POST /v1/predict HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
            )
            with suppress(ConnectionError):
                for _ in range(200):
                    connection.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024
    assert served.ask("GET", "/live").status == 200


def numbers(most: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(-1, most), st.sampled_from([0, 2**31, 10**30, -(10**30)]))


texts = st.text(max_size=12)
searches = st.one_of(
    st.none(),
    st.fixed_dictionaries({"kind": st.just("greedy")}),
    st.fixed_dictionaries({"kind": st.just("beam")}, optional={"width": numbers(8)}),
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["sample", "risk"])},
        optional={
            "draws": numbers(6),
            "temperature": st.floats(),
            "top_k": numbers(9),
            "top_p": st.floats(-1, 2),
            "min_p": st.floats(-1, 2),
            "seed": numbers(99),
        },
    ),
    st.fixed_dictionaries(
        {"kind": st.just("diverse")}, optional={"width": numbers(8), "groups": numbers(4)}
    ),
    st.fixed_dictionaries({"kind": st.just("exact")}, optional={"expansions": numbers(40)}),
    st.fixed_dictionaries(
        {"kind": st.just("completions")}, optional={"count": numbers(4), "width": numbers(4)}
    ),
    st.dictionaries(texts, st.integers(), max_size=2),
)
predictions = st.fixed_dictionaries(
    {"inputs": st.lists(texts, max_size=3)},
    optional={
        "search": searches,
        "n_best": numbers(4),
        "alternatives": numbers(4),
        "attention": st.booleans(),
        "tree": st.booleans(),
        "prefix": st.one_of(texts, st.lists(texts, max_size=3)),
        "require": st.lists(texts, max_size=2),
        "forbid": st.lists(texts, max_size=2),
        "no_repeat": numbers(4),
        "model": st.sampled_from(["first", "second", "third"]),
    },
)


@settings(max_examples=count(100, 4_000), suppress_health_check=list(HealthCheck), deadline=None)
@given(request=predictions, path=st.sampled_from(["/v1/predict", "/v1/stream"]))
def test_fuzzed_requests(served: Served, request: object, path: str) -> None:
    """D1: values in and out of their ranges; each answer is one of those that are promised."""
    answer = served.ask("POST", path, json.dumps(request).encode())
    assert answer.status in (200, 404, 422), answer.body


def schema_checks() -> Callable[[Served], None]:
    """The same from openapi.json alone, by schemathesis, where it is installed."""
    schemathesis = pytest.importorskip("schemathesis")
    checks = pytest.importorskip("schemathesis.specs.openapi.checks")
    beyond = [checks.positive_data_acceptance]  # limits that a schema cannot tell are refused

    def check(served: Served) -> None:
        schema = schemathesis.openapi.from_url(f"{served.address}/openapi.json")
        tried = 0
        for result in schema.get_all_operations():
            operation = result.ok()

            @settings(
                max_examples=count(12, 250), suppress_health_check=list(HealthCheck), deadline=None
            )
            @given(case=operation.as_strategy())
            def call(case: object) -> None:
                response = case.call()  # type: ignore[attr-defined]
                assert response.status_code < 500
                case.validate_response(response, excluded_checks=beyond)  # type: ignore[attr-defined]

            call()
            tried += 1
        assert tried >= 7

    return check


def test_the_schema_is_true(served: Served) -> None:
    """D1: requests drawn from openapi.json, and answers as it says."""
    schema_checks()(served)
