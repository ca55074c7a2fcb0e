"""A fast path around FastAPI for the most frequent requests.

FastAPI describes these routes and has their functions; its own dispatch through middleware, router
and dependencies takes several times as long as reading the request.
"""

import json
from collections.abc import Iterable, MutableMapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.middleware.gzip import GZipMiddleware

from seqloom.serving.error_answers import MALFORMED, answer_error
from seqloom.serving.errors import MalformedRequest
from seqloom.serving.guard import WHOLE, App, Receive, Send

__all__ = ["LARGE", "WholeResponse", "WorkRoutes"]

LARGE = 1_000  # bytes from which on a response is compressed, if the client accepts it
VARIES = (b"vary", b"Accept-Encoding")


class WholeResponse(Response):
    """A response of rendered JSON."""

    def __init__(self, body: bytes) -> None:
        self.status_code, self.background, self.body = 200, None, body
        self.raw_headers = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
        ]


class WorkRoutes:
    """An application that handles these paths itself and passes all others on.

    The functions of its routes take a body and the request.
    """

    def __init__(self, app: FastAPI, paths: Iterable[str], *, others: App) -> None:
        self.others = others
        self._packing = GZipMiddleware(self._answer_in_parts, LARGE)
        self._routes = {
            route.path: route
            for route in app.routes
            if isinstance(route, APIRoute) and route.path in paths
        }

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle a request."""
        takes = scope["type"] == "http" and scope["method"] == "POST"
        if not takes or scope["path"] not in self._routes:
            await self.others(scope, receive, send)
        elif _reads_packed(scope):
            await self._packing(scope, receive, send)
        else:
            response = await self._respond(scope, receive)
            if len(getattr(response, "body", b"")) >= LARGE:
                response.raw_headers.append(VARIES)
            if isinstance(response, WholeResponse):
                await send({"type": WHOLE, "headers": response.raw_headers, "body": response.body})
            else:
                await response(scope, receive, send)

    async def _answer_in_parts(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        response = await self._respond(scope, receive)
        await response(scope, receive, send)

    async def _respond(self, scope: MutableMapping[str, Any], receive: Receive) -> Response:
        """Call the function of a route; return its response, or the response to its error."""
        scope["route"] = route = self._routes[scope["path"]]
        request = Request(scope, receive)
        try:
            message = await receive()  # the guard has buffered the whole body
            body = _parse(route.endpoint.__annotations__["body"], message["body"])
            response: Response = await route.endpoint(body, request)
        except Exception as error:
            return answer_error(request, error)
        return response


def _reads_packed(scope: MutableMapping[str, Any]) -> bool:
    """Whether the client accepts compressed responses."""
    given = (value for name, value in scope["headers"] if name == b"accept-encoding")
    return b"gzip" in next(given, b"")


def _parse(model: type[BaseModel], body: bytes) -> BaseModel:
    """Parse the body; MalformedRequest if it is not JSON."""
    try:
        plain = json.loads(body) if body else None
    except (ValueError, RecursionError):
        raise MalformedRequest(MALFORMED, place="body") from None
    return model.model_validate(plain)
