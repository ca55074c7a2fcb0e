"""The server's manners: problem details, HEAD and OPTIONS, compression, health, draining."""

import gzip
import json
import re
import time
from collections.abc import Iterator

import pytest

import seqloom
from seqloom.errors import ConfigError
from seqloom.prediction import TextPredictor
from seqloom.serving.errors import error_classes
from seqloom.serving.guard import Access
from tests.serving.support import Served, serving, until

TOKEN = "a-token-of-many-letters"
DELAY = 0.2


@pytest.fixture(scope="module", name="closed")
def closed_(models: dict[str, TextPredictor]) -> Iterator[Served]:
    with serving(models, Access(token=TOKEN, delay=DELAY), body=2_000) as server:
        yield server


def raw(served: Served, request: bytes) -> bytes:
    """What comes back until the connection ends."""
    with served.connect() as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("route", "body", "status", "code"),
    [
        ("POST /v1/predict", b'{"inputs": [', 400, "malformed"),
        ("POST /v1/predict", b"", 422, "config"),
        ("POST /v1/predict", b'{"inputs": ["a"], "model": "third"}', 404, "model"),
        ("POST /v1/predict", b'{"inputs": ["%s"]}' % (b"a" * 2_000), 413, "refused"),
        ("POST /v1/predict", b'{"inputs": ["a"], "n_best": 1000}', 422, "limit"),
        ("GET /nothing/here", None, 404, "refused"),
        ("GET /v1/predict", None, 405, "refused"),
    ],
)
def test_errors_are_problem_details(
    closed: Served, route: str, body: bytes | None, status: int, code: str
) -> None:
    """RFC 9457, with a code that is described at the address that `type` names."""
    method, _, path = route.partition(" ")
    answer = closed.ask(method, path, body, {"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status, answer.json["status"], answer.json["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["type"] == f"/docs#{code}"
    assert answer.json["detail"] == answer.error
    assert answer.json["title"]


@pytest.mark.parametrize(
    ("route", "body", "sentence"),
    [
        ("GET /nothing/here", None, "there is nothing here; see /docs for what can be asked"),
        (
            "GET /v1/predict",
            None,
            "the method is not allowed here; see /docs for what can be asked",
        ),
        ("POST /v1/predict", b"{}", "inputs: it is missing"),
    ],
)
def test_errors_are_sentences(
    closed: Served, route: str, body: bytes | None, sentence: str
) -> None:
    """With the place and the remedy, and a title in plain words."""
    method, _, path = route.partition(" ")
    answer = closed.ask(method, path, body, {"Authorization": f"Bearer {TOKEN}"})
    assert answer.error == sentence
    if answer.json["code"] == "refused":
        assert answer.json["title"] == "A request that is refused"


def test_one_text_is_an_input(served: Served) -> None:
    one = served.ask("POST", "/v1/predict", {"inputs": "abc"}).json["outputs"]
    assert one == served.predict("abc").json["outputs"]


@pytest.mark.parametrize("path", ["/", "/docs", "/live", "/v1/models", "/openapi.json"])
def test_head_is_get_without_a_body(served: Served, path: str) -> None:
    head, whole = served.ask("HEAD", path), served.ask("GET", path)
    assert (head.status, head.body) == (200, b"")
    for name in ("content-type", "content-length"):
        assert head.headers[name] == whole.headers[name]


def test_options_tell_the_methods_and_nothing_more(served: Served) -> None:
    for path, methods in (("/v1/predict", "OPTIONS, POST"), ("/live", "GET, HEAD, OPTIONS")):
        answer = served.ask("OPTIONS", path)
        assert (answer.status, answer.headers["allow"]) == (204, methods)
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert served.ask("OPTIONS", "/nothing/here").status == 404


@pytest.mark.parametrize("path", ["/openapi.json", "/page/play.js"])
def test_large_answers_are_compressed_for_those_who_ask(served: Served, path: str) -> None:
    packed = served.ask("GET", path, None, {"Accept-Encoding": "gzip"})
    plain = served.ask("GET", path)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 3
    small = served.ask("GET", "/live", None, {"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


def test_answers_to_work_are_the_same_packed_and_plain(served: Served) -> None:
    """The plain one is written in one go, with every header that others have."""
    body = {"inputs": ["abc"] * 20}
    plain = served.ask("POST", "/v1/predict", body)
    packed = served.ask("POST", "/v1/predict", body, {"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(packed.body))["outputs"] == plain.json["outputs"]
    assert plain.headers.keys() == packed.headers.keys() - {"content-encoding"}
    changing = {"content-length", "x-request-id", "date"}
    for name in plain.headers.keys() - changing:
        assert plain.headers[name] == packed.headers[name]
    assert plain.headers["vary"] == "Accept-Encoding"
    assert "vary" not in served.predict("a").headers
    assert plain.headers.keys() - {"vary"} == served.ask("GET", "/live").headers.keys()


def test_requests_for_work_share_a_connection_until_one_asks_to_close_it(served: Served) -> None:
    """Also where they come at once; one of HTTP/1.0 is the last on its connection."""
    expected = served.predict("abc").json["outputs"]
    content = b'{"inputs":["abc"]}'
    fields = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    request = b"POST /v1/predict HTTP/1.1\r\n" + fields % len(content) + b"\r\n" + content
    last = request.replace(b"Host:", b"Connection: close\r\nHost:")
    for sent in (request * 2 + last, request.replace(b"HTTP/1.1", b"HTTP/1.0")):
        answers = raw(served, sent).split(b"HTTP/1.1 200 OK\r\n")[1:]
        assert len(answers) == sent.count(b"POST")
        *others, end = [b"connection: close" in each for each in answers]
        assert end
        assert not any(others)
        for head, _, text in (each.partition(b"\r\n\r\n") for each in answers):
            assert b"content-length: %d\r\n" % len(text) in head
            assert json.loads(text)["outputs"] == expected


def test_health_needs_no_token_and_wrong_ones_are_slow(closed: Served) -> None:
    assert closed.ask("GET", "/live").json == {"live": True}
    assert closed.ask("GET", "/ready").status == 401
    began = time.monotonic()
    assert closed.ask("GET", "/ready", None, {"Authorization": "Bearer x"}).status == 401
    assert time.monotonic() - began >= DELAY


def test_a_token_in_the_address(closed: Served) -> None:
    """It opens, and no message repeats it."""
    address = closed.address.replace("//", f"//me:{TOKEN}@")
    with seqloom.Client(address) as client:
        assert len(client.models()) == 2
        assert TOKEN not in client.address
        with pytest.raises(ConfigError, match="none of that name"):
            client.predict(["a"], model="third")


def test_the_description_names_tokens_and_codes(served: Served) -> None:
    document = served.ask("GET", "/openapi.json").json
    assert set(document["components"]["securitySchemes"]) == {"bearer", "password"}
    assert document["paths"]["/live"]["get"]["security"] == []
    assert set(document["x-codes"]) == set(error_classes())
    assert document["components"]["schemas"]["ErrorAnswer"]["examples"]


@pytest.mark.parametrize(
    "host", ["localhost#x", "localhost/x", "localhost:80:90", "localhost:", "localhost:x", "[::1"]
)
def test_a_host_is_one_name_and_one_port(served: Served, host: str) -> None:
    assert served.ask("GET", "/live", None, {"Host": host}).status in (400, 403)


def test_an_origin_has_its_scheme(served: Served) -> None:
    here = f"127.0.0.1:{served.port}"
    for origin, status in ((f"http://{here}", 200), (f"https://{here}", 403), (here, 403)):
        answer = served.ask("POST", "/v1/predict", {"inputs": ["a"]}, {"Origin": origin})
        assert answer.status == status


def test_a_length_told_twice_is_refused(served: Served) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    both = b"Content-Length: 16\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert raw(served, head + both).startswith(b"HTTP/1.1 400")


def test_the_last_answer_while_draining_says_so(models: dict[str, TextPredictor]) -> None:
    """A request that is under way when the server is to stop has its answer, and is the last."""
    found: list[bytes] = []
    with serving(models) as served:
        body = json.dumps({"inputs": ["abc"]}).encode()
        head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        with served.connect() as connection:
            connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
            until(lambda: bool(served.server.server_state.tasks))
            served.server.should_exit = True
            until(lambda: not any(each.is_serving() for each in served.server.servers))
            connection.sendall(body)
            found.append(connection.recv(65_536))
    assert found[0].startswith(b"HTTP/1.1 200")
    assert b"connection: close" in found[0].lower()


def test_the_page_is_light(served: Served) -> None:
    """Everything that the playground loads is the server's own, and 400 kB at most."""
    left, seen = ["/"], {}
    while left:
        path = left.pop()
        answer = served.ask("GET", path)
        assert answer.status == 200, path
        seen[path] = len(answer.body)
        text = answer.body.decode()
        named = re.findall(r'(?:src|href)="(/page/[^"]+)"', text)
        named += [f"/page/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]
        assert "https:" not in text.replace("https://www.w3.org", "")
        left += [each for each in named if each not in seen and each not in left]
    assert len(seen) > 25
    assert sum(seen.values()) <= 400_000
