"""Checks before the API: authentication, form and size of requests (D2, D7)."""

import asyncio
import base64
import binascii
import hmac
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starlette.routing import BaseRoute, Match

from seqloom.serving.connections import ANSWER, CROWDED
from seqloom.serving.errors import PROBLEM, RequestRefused, error_body, retry_after
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import Metrics, RequestRecord, log

__all__ = [
    "LOOPBACK",
    "OPEN_PATHS",
    "WHOLE",
    "WORK_PATHS",
    "Access",
    "App",
    "Guard",
    "PlainMethods",
    "Receive",
    "Send",
]

Headers = Mapping[bytes, bytes]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
NUMBERS = random.Random()  # for request ids: fast, and not secret
OPEN_PATHS = ("/live",)  # paths without authentication: health checks reveal nothing
WORK_PATHS = ("/v1/predict", "/v1/stream", "/v1/score", "/v1/look")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
HEAD = b"".join(b"%b: %b\r\n" % pair for pair in HEADERS)
WHOLE = "seqloom.answer"  # message type of a whole response of status 200 with plain headers


@dataclass(frozen=True)
class Access:
    """Access control: the host names of this server, and its token, if any."""

    hosts: tuple[str, ...] = LOOPBACK
    token: str | None = None
    delay: float = 0.3  # seconds before a wrong token is rejected, against guessing

    async def check(self, headers: Headers, scope: Mapping[str, Any]) -> None:
        """Raise an error unless host, token and origin are valid."""
        host = headers.get(b"host", b"")
        if _host_of(host) not in self.hosts:
            raise RequestRefused(
                "this server does not go by that name",
                status=403,
                remedy="ask it by its own, or have it started with this one among its hosts",
            )
        if not self._knows_token(headers, scope["path"]):
            if b"authorization" in headers:
                await asyncio.sleep(self.delay)
            raise RequestRefused(
                "the token is missing or wrong",
                status=401,
                remedy="send Authorization: Bearer TOKEN",
            )
        origin = headers.get(b"origin")
        if scope["method"] == "GET" or origin is None:
            return
        if origin.lower() != _origin(scope.get("scheme", "http"), host):
            raise RequestRefused("pages of other origins may not ask this server", status=403)

    def _knows_token(self, headers: Headers, path: str) -> bool:
        if self.token is None or path in OPEN_PATHS:
            return True
        given = headers.get(b"authorization", b"").decode("latin-1")
        return _tokens_match(_read_token(given), self.token)


class Guard:
    """An ASGI application that wraps another with checks."""

    def __init__(
        self,
        app: App,
        *,
        access: Access,
        limits: ServingConfig,
        metrics: Metrics,
        logs: bool = True,
    ) -> None:
        self.app = app
        self.logs = logs  # whether to log each request
        self.access = access
        self.limits = limits
        self.metrics = metrics
        self.held = 0  # bytes of request bodies in memory

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        works = scope["method"] == "POST" and scope["path"] in WORK_PATHS
        visit = RequestContext(scope, send, RequestRecord(self.metrics) if works else None)
        try:
            if CROWDED in scope.get("state", ()) and scope["path"] not in OPEN_PATHS:
                raise RequestRefused(
                    "too many connections are open", status=503, remedy="try again in a moment"
                )
            headers = dict(scope["headers"])
            await self.access.check(headers, scope)
            body = await self._body(visit, headers, receive)
            await self.app(scope, _replay_body(body, receive), visit.send)
        except RequestRefused as refusal:
            await visit.refuse(refusal)
        finally:
            self.held -= visit.held
            facts = visit.close()
            if self.logs:
                log("request", **facts)

    async def _body(self, visit: "RequestContext", headers: Headers, receive: Receive) -> bytes:
        """Read the request's body, of bounded size; only JSON is accepted."""
        if b"content-length" in headers and b"transfer-encoding" in headers:
            raise RequestRefused("the length of the body is told in two ways", status=400)
        if visit.scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return b""
        kind = headers.get(b"content-type", b"").partition(b";")[0]
        if kind.strip().lower() != b"application/json":
            raise RequestRefused(
                "the body is not declared as JSON",
                status=415,
                remedy="send JSON, with Content-Type: application/json",
            )
        most, parts = self.limits.body, []
        if _exceeds(headers.get(b"content-length", b""), most):
            raise _body_too_large(most)
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestRefused("the request has no end", status=400)
            part = message.get("body", b"")
            visit.held += len(part)
            self.held += len(part)
            if visit.held > most:
                raise _body_too_large(most)
            if self.held > self.limits.held:
                raise RequestRefused(
                    "too much is sent at once", status=429, remedy="try again in a moment"
                )
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)


class RequestContext:
    """One request, from its first byte to its log line."""

    def __init__(
        self, scope: MutableMapping[str, Any], send: Send, entry: RequestRecord | None
    ) -> None:
        self.number = f"{NUMBERS.getrandbits(64):016x}"
        self.began = time.perf_counter()
        self.scope = scope
        self.entry = entry
        self.status = 0
        self.held = 0  # bytes of its body in memory
        self._send = send
        scope.setdefault("state", {})["entry"] = entry

    async def send(self, message: Message) -> None:
        """Send a message, with the headers common to all responses."""
        if message["type"] == WHOLE:
            await self._send_whole(message["headers"], message["body"])
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = [(b"x-request-id", self.number.encode())]
            given = {name for name, _ in message.get("headers", [])}
            own += [pair for pair in HEADERS if pair[0] not in given]
            message["headers"] = [*message.get("headers", []), *own]
        await self._send(message)

    async def _send_whole(self, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """Send a whole response, in parts if the connection does not support it."""
        send = self.scope["state"].get(ANSWER)
        named = b"".join([b"%b: %b\r\n" % pair for pair in headers])
        own = b"x-request-id: %b\r\n" % self.number.encode()
        if send is not None and send(named + own + HEAD, body):
            self.status = 200
            return
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: RequestRefused) -> None:
        """Respond with an error, and close the connection."""
        body = json.dumps(error_body(refusal, self.scope["path"])).encode()
        headers = [
            (b"content-type", PROBLEM.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if (seconds := retry_after(refusal)) is not None:
            headers.append((b"retry-after", str(seconds).encode()))
        if refusal.http_status == 401:
            headers.append((b"www-authenticate", b'Basic realm="seqloom", charset="UTF-8"'))
        await self.send(
            {"type": "http.response.start", "status": refusal.http_status, "headers": headers}
        )
        await self.send({"type": "http.response.body", "body": body})

    def close(self) -> dict[str, Any]:
        """Finish the accounting of the request; return facts for the log."""
        route = self.scope.get("route")
        self.scope["state"].pop(ANSWER, None)  # which refers to the scope
        facts = {
            "request": self.number,
            "method": self.scope["method"],
            "path": getattr(route, "path", None),
            "status": self.status,
            "seconds": round(time.perf_counter() - self.began, 6),
        }
        if self.entry is not None:
            if self.entry.outcome is None:
                self.entry.end("cancelled" if self.entry.accepted else "refused")
            facts["outcome"] = self.entry.outcome
        return facts


def _body_too_large(most: int) -> RequestRefused:
    problem = f"more bytes than this server's body, {most:,}"
    return RequestRefused(problem, status=413, place="body")


def _exceeds(length: bytes, most: int) -> bool:
    return length.isdigit() and (len(length) > 18 or int(length) > most)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """The body as one message, followed by the client's disconnection."""
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message


@lru_cache(maxsize=16)
def _host_of(header: bytes) -> str:
    """The host name in a Host header, without port; empty if malformed."""
    found = HOST.fullmatch(header.decode("latin-1"))
    return (found["name"] or found["address"]).lower() if found else ""


@lru_cache(maxsize=16)
def _origin(scheme: str, host: bytes) -> bytes:
    """The origin of this server's pages, without a default port."""
    usual = {"http": b":80", "https": b":443"}.get(scheme, b"")
    return b"%b://%b" % (scheme.encode(), host.lower().removesuffix(usual))


def _read_token(authorization: str) -> str:
    """The token, from a bearer header or from the password of basic authentication."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _tokens_match(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


class PlainMethods:
    """An application that answers HEAD like GET without a body, and OPTIONS with a path's methods,
    but without CORS permissions.
    """

    def __init__(self, app: App, routes: Sequence[BaseRoute]) -> None:
        self.app = app
        self._routes = routes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        method = scope.get("method")
        allowed = self._methods(scope) if method == "OPTIONS" else []
        if allowed:
            headers = [(b"allow", ", ".join(allowed).encode())]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        # The server leaves the body of an answer to HEAD out.
        await self.app({**scope, "method": "GET"} if method == "HEAD" else scope, receive, send)

    def _methods(self, scope: MutableMapping[str, Any]) -> list[str]:
        found = {
            method
            for route in self._routes
            if route.matches(scope)[0] is not Match.NONE
            for method in getattr(route, "methods", None) or ()
        }
        more = {"HEAD", "OPTIONS"} if "GET" in found else {"OPTIONS"}
        return sorted(found | more) if found else []
