"""RELIABILITY D7: who may not ask is told so on every route; nothing of a request is believed."""

import base64
import json
from collections.abc import Iterator

import pytest

from seqloom.prediction import TextPredictor
from seqloom.serving.guard import Access
from tests.serving.support import Served, serving

pytestmark = pytest.mark.faults

TOKEN = "a-token-of-many-letters"
ROUTES = [
    ("GET", "/"),
    ("GET", "/page/play.js"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/models"),
    ("POST", "/v1/predict"),
    ("POST", "/v1/stream"),
    ("POST", "/v1/score"),
    ("GET", "/nothing/here"),
]
BODY = {"POST": {"inputs": ["abc"]}, "GET": None}
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def closed(models: dict[str, TextPredictor]) -> Iterator[Served]:
    """A server that wants a token."""
    with serving(models, Access(token=TOKEN, delay=0.0)) as server:
        yield server


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": "Basic !!"},
        {"Authorization": "Basic " + base64.b64encode(b"user:wrong").decode()},
    ],
    ids=["none", "wrong", "empty", "bare", "broken", "password"],
)
def test_no_route_without_the_token(
    closed: Served, method: str, path: str, header: dict[str, str]
) -> None:
    answer = closed.ask(method, path, BODY[method], header)
    assert answer.status == 401
    assert "Basic" in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    "header", [f"Bearer {TOKEN}", "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()]
)
def test_the_token_opens(closed: Served, header: str) -> None:
    """As a bearer's token, or as the password that a browser asks for."""
    answer = closed.ask("POST", "/v1/predict", BODY["POST"], {"Authorization": header})
    assert answer.status == 200


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "a@localhost", "["])
def test_no_route_under_a_foreign_name(served: Served, method: str, path: str, host: str) -> None:
    """So a page that rebinds its own name to this machine gets nowhere."""
    assert served.ask(method, path, BODY[method], {"Host": host}).status in (400, 403)


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/stream", "/v1/score"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_no_page_of_another_origin(served: Served, path: str, origin: str) -> None:
    answer = served.ask("POST", path, BODY["POST"], {"Origin": origin})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers
    preflight = served.ask("OPTIONS", path, b"", {"Origin": origin})
    assert preflight.status >= 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "a/b"])
def test_only_json_is_taken(served: Served, kind: str) -> None:
    """What a form of another page can send is refused."""
    answer = served.ask("POST", "/v1/predict", b'{"inputs":["a"]}', {"Content-Type": kind})
    assert answer.status == 415


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/page//etc/passwd",
        "/page/index.html%00.js",
        "/../../etc/passwd",
        "//etc/passwd",
        "/page/\\..\\app.py",
        "/page/",
    ],
)
def test_no_way_out_of_the_page(served: Served, path: str) -> None:
    answer = served.ask("GET", path)
    assert answer.status == 404
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


def test_script_comes_back_as_text_only(served: Served) -> None:
    """As an input, a model's name, a prefix, an unknown key: the answer is JSON, never a page."""
    for request in (
        {"inputs": [SCRIPT]},
        {"inputs": ["a"], "model": SCRIPT},
        {"inputs": ["a"], "prefix": SCRIPT},
        {"inputs": ["a"], SCRIPT: 1},
        {"inputs": ["a"], "search": {"kind": SCRIPT}},
    ):
        answer = served.ask("POST", "/v1/predict", request)
        kind = "application/json" if answer.status == 200 else "application/problem+json"
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.status in (200, 404, 422)
    assert served.ask("GET", f"/{SCRIPT}".replace("<", "%3C")).headers["content-type"] == (
        "application/problem+json"
    )


def test_every_answer_has_its_headers(served: Served) -> None:
    for method, path in ROUTES:
        headers = served.ask(method, path, BODY[method]).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_the_log_holds_no_text_and_no_forged_line(
    models: dict[str, TextPredictor], capfd: pytest.CaptureFixture[str]
) -> None:
    """One JSON object a line, whatever is in the path, the headers or the inputs."""
    secret = "abccab"
    with serving(models) as served:
        served.predict(secret, prefix="cc")
        served.ask("GET", "/%0a%7b%22event%22:%22forged%22%7d")
        served.ask("GET", "/live", headers={"X-Request-Id": "forged"})
        served.ask("POST", "/v1/predict", {"inputs": [secret], "model": "forged\n{}"})
    lines = [line for line in capfd.readouterr().err.splitlines() if line.strip()]
    assert len(lines) >= 4
    for line in lines:
        assert json.loads(line)["event"] == "request"
        assert secret not in line
        assert "forged" not in line
