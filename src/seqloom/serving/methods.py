"""HEAD and OPTIONS for every route, from the methods that it has."""

from collections.abc import MutableMapping
from typing import Any

from fastapi import FastAPI
from starlette.routing import Match

from seqloom.serving.guard import Receive, Send

__all__ = ["PlainMethods"]


class PlainMethods:
    """An application that answers HEAD as GET without a body, and OPTIONS with the methods that a
    path allows, but with no leave for pages of other origins."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

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
            for route in self.app.routes
            if route.matches(scope)[0] is not Match.NONE
            for method in getattr(route, "methods", None) or ()
        }
        more = {"HEAD", "OPTIONS"} if "GET" in found else {"OPTIONS"}
        return sorted(found | more) if found else []
