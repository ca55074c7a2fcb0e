"""The way of work, which is most of what a server is asked for, around FastAPI.

FastAPI describes these routes and has their functions; its own way to them, through middleware, the
router and the solving of parameters, takes several times as long as reading the request.
"""

import json
from collections.abc import Iterable, MutableMapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from seqloom.serving.error_answers import MALFORMED, answer_error
from seqloom.serving.errors import MalformedRequest
from seqloom.serving.guard import Receive, Send

__all__ = ["WorkRoutes"]


class WorkRoutes:
    """An application that takes requests to these paths itself and leaves all others to FastAPI.

    The functions of its routes take a body and the request.
    """

    def __init__(self, app: FastAPI, paths: Iterable[str]) -> None:
        self.app = app
        self._routes = {
            route.path: route
            for route in app.routes
            if isinstance(route, APIRoute) and route.path in paths
        }

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        takes = scope["type"] == "http" and scope["method"] == "POST"
        route = self._routes.get(scope["path"]) if takes else None
        if route is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = route
        request = Request(scope, receive)
        try:
            body = _parse(route.endpoint.__annotations__["body"], await request.body())
            response = await route.endpoint(body, request)
        except Exception as error:
            response = answer_error(request, error)
        await response(scope, receive, send)


def _parse(model: type[BaseModel], body: bytes) -> BaseModel:
    """The body as a request; MalformedRequest where it is no JSON."""
    try:
        plain = json.loads(body) if body else None
    except (ValueError, RecursionError):
        raise MalformedRequest(MALFORMED, place="body") from None
    return model.model_validate(plain)
