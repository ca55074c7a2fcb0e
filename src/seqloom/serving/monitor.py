"""A page that shows a training as it goes on: `seqloom watch`."""

import hmac
from typing import Any, Protocol

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from seqloom.serving.app import page_files
from seqloom.serving.error_answers import add_error_handlers
from seqloom.serving.errors import RequestRefused
from seqloom.serving.guard import Access, Guard, PlainMethods
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import Metrics

__all__ = ["Monitored", "monitor_application"]

KEY = "x-seqloom-key"
LARGE = 1_000  # bytes from which on a response is compressed


class Insight(Protocol):
    """The view of a validation input at a step."""

    @property
    def pictures(self) -> tuple[str, ...]:
        """Drawings, as SVG."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the pictures themselves."""
        ...


class Monitored(Protocol):
    """A run that is monitored while it trains."""

    def state(self) -> dict[str, Any]:
        """The configuration, and the saved steps."""
        ...

    def events(self, generation: int, after: int) -> dict[str, Any]:
        """The events after the first `after`."""
        ...

    def insight(self, step: int) -> Insight | None:
        """The view of a saved step; None if it is not saved."""
        ...

    def request(self, action: str) -> None:
        """Request the training process to save or to stop."""
        ...


class ActionRequest(BaseModel):
    """What the training is asked to do."""

    action: str


def monitor_application(run: Monitored, key: str, limits: ServingConfig) -> Guard:
    """The monitoring page of a run; only clients with the key may save or stop."""
    app = FastAPI(title="Seqloom", docs_url=None, redoc_url=None, openapi_url=None)
    page = page_files()

    @app.get("/")
    def watch() -> Response:
        return page["watch.html"].response()

    @app.get("/page/{name}")
    def part(name: str) -> Response:
        if name not in page:
            raise HTTPException(404)
        return page[name].response()

    @app.get("/v1/run")
    def state() -> dict[str, Any]:
        return run.state()

    @app.get("/v1/events")
    def events(generation: int = 0, after: int = 0) -> dict[str, Any]:
        return run.events(generation, max(0, after))

    def find(step: int) -> Insight:
        found = run.insight(step)
        if found is None:
            raise HTTPException(404)
        return found

    @app.get("/v1/steps/{step}")
    def insight(step: int) -> dict[str, Any]:
        return find(step).as_dict()

    @app.get("/v1/steps/{step}/{number}.svg")
    def picture(step: int, number: int) -> Response:
        pictures = find(step).pictures
        if not 0 <= number < len(pictures):
            raise HTTPException(404)
        return Response(pictures[number], media_type="image/svg+xml")

    @app.post("/v1/request", status_code=204)
    def ask(body: ActionRequest, request: Request) -> Response:
        given = request.headers.get(KEY, "")
        if not hmac.compare_digest(given.encode(), key.encode()):
            raise RequestRefused(
                "only who has the whole address may save or stop",
                status=403,
                remedy="open the address that the terminal shows",
            )
        run.request(body.action)
        return Response(status_code=204)

    add_error_handlers(app)
    app.add_middleware(GZipMiddleware, minimum_size=LARGE)
    plain = PlainMethods(app, app.routes)
    return Guard(plain, access=Access(), limits=limits, metrics=Metrics(), logs=False)
