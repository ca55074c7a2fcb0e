"""The API: predict, stream, score, the list of models, health, metrics, and the playground."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from seqloom.errors import SeqloomError
from seqloom.prediction.predictor import Predictor
from seqloom.scheduling.errors import RequestCancelled, ServerStopping
from seqloom.scheduling.jobs import Event, Job, RenderedOutput
from seqloom.scheduling.templates import ProcessTemplate
from seqloom.serving.connections import DISCONNECTION, Disconnection, Requester
from seqloom.serving.error_answers import add_error_handlers, log_fault, server_fault
from seqloom.serving.errors import PROBLEM, error_body
from seqloom.serving.guard import WORK_PATHS, Access, Guard, PlainMethods
from seqloom.serving.limits import ServingConfig
from seqloom.serving.metrics import RequestRecord
from seqloom.serving.models.stored import StoredModel
from seqloom.serving.requests import (
    LookRequest,
    PredictRequest,
    ScoreRequest,
    predict_request_model,
)
from seqloom.serving.responses import (
    LookAnswer,
    ModelsAnswer,
    PredictAnswer,
    ScoreAnswer,
    SearchesAnswer,
    describe_api,
)
from seqloom.serving.service import Service
from seqloom.serving.work_routes import LARGE, WholeResponse, WorkRoutes
from seqloom.version import __version__

__all__ = ["PageFile", "application", "page_files"]

EVENT = {  # of a stream, as OpenAPI tells it
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": meaning,
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
    }
    for status, meaning in (
        (400, "not HTTP or JSON that can be read"),
        (401, "the token is missing or wrong"),
        (403, "a host or origin that may not ask"),
        (404, "a model that is not served here"),
        (413, "a body that is larger than the limit"),
        (415, "not JSON"),
        (422, "a value that cannot be, or beyond a limit, which is named"),
        (429, "the queue is full; Retry-After says when to come back"),
        (500, "the model failed on this request"),
        (503, "the server is stopping"),
        (504, "the deadline has passed"),
    )
}


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "server-sent events: `tokens` as they are certain, `output`, `done`",
        "content": {"text/event-stream": {"schema": EVENT}},
    },
    **ERRORS,
}


def application(
    models: Mapping[str, Predictor],
    *,
    access: Access | None = None,
    limits: ServingConfig | None = None,
    template: ProcessTemplate | None = None,
    stored: Mapping[str, StoredModel] | None = None,
) -> tuple[Guard, Service]:
    """Build the ASGI application for these models, and its service.

    Forks of a template process decode; without a template threads do. Stored models are loaded on
    demand.
    """
    limits = limits or ServingConfig()
    service = Service(models, limits, template, stored)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        yield
        await asyncio.to_thread(service.stop)

    app = FastAPI(
        title="Seqloom",
        version=__version__,
        description="Finished models behind HTTP.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.openapi = partial(describe_api, app)  # type: ignore[method-assign]
    _work_routes(app, service)
    _plain_routes(app, service, needs_token=access is not None and access.token is not None)
    add_error_handlers(app)
    bounds = limits
    if service.served.reads_files:
        bounds = limits.model_copy(update={"body": max(limits.body, limits.upload)})
    others = PlainMethods(GZipMiddleware(app, LARGE), app.routes)
    whole = WorkRoutes(app, WORK_PATHS, others=others)
    guard = Guard(whole, access=access or Access(), limits=bounds, metrics=service.metrics)
    return guard, service


def _work_routes(app: FastAPI, service: Service) -> None:
    body_model = predict_request_model()

    async def predict(body: PredictRequest, request: Request) -> Response:
        """An output for each input."""
        entry = _request_record(request)
        job = await service.predict(body, entry, client=_client(request))
        outputs = await _all_outputs(job, request, entry, len(body.inputs))
        service.metrics.counts.tokens += sum([each.tokens for each in outputs])
        return _answer(job.model, "outputs", _list(outputs), entry)

    async def stream(body: PredictRequest, request: Request) -> Response:
        """The tokens of each output as soon as they are certain, then the whole outputs."""
        entry = _request_record(request)
        job = await service.predict(body, entry, client=_client(request), streams=True)
        told = _stream_events(service, job, request, len(body.inputs))
        return StreamingResponse(told, media_type="text/event-stream")

    for take in (predict, stream):
        take.__annotations__["body"] = body_model
    app.post("/v1/predict", responses={200: {"model": PredictAnswer}, **ERRORS})(predict)
    app.post("/v1/stream", response_class=StreamingResponse, responses=STREAMED)(stream)

    @app.post("/v1/score", responses={200: {"model": ScoreAnswer}, **ERRORS})
    async def score(body: ScoreRequest, request: Request) -> Response:
        """How likely given outputs are, token by token."""
        entry = _request_record(request)
        job = await service.score(body, entry, client=_client(request))
        scores = await _all_outputs(job, request, entry, len(body.pairs))
        return _answer(job.model, "scores", _list(scores), entry)

    @app.post("/v1/look", responses={200: {"model": LookAnswer}, **ERRORS})
    async def look(body: LookRequest, request: Request) -> Response:
        """What a model did for one output: attention, or what mattered."""
        entry = _request_record(request)
        job = await service.look(body, entry, client=_client(request))
        seen = await _all_outputs(job, request, entry, 1)
        return _answer(job.model, "look", seen[0].json, entry)


def _plain_routes(app: FastAPI, service: Service, *, needs_token: bool) -> None:
    @app.get("/v1/models", responses={200: {"model": ModelsAnswer}})
    async def models() -> Response:
        """The models, what they read and write, and the limits of requests."""
        limits = service.limits.model_dump()
        return _json(
            {"models": await service.listing(), "limits": limits, "needs_token": needs_token}
        )

    @app.get("/v1/searches", responses={200: {"model": SearchesAnswer}})
    async def searches() -> Response:
        """Every search that a request may name, with its options."""
        return _json({"searches": service.searches()})

    @app.get("/live")
    async def live() -> dict[str, bool]:
        """Whether the process answers."""
        return {"live": True}

    @app.get("/ready", responses={503: ERRORS[503]})
    async def ready() -> Response:
        """Whether requests are taken: not before the models are loaded, nor while stopping."""
        if service.ready:
            return _json({"ready": True, **service.served.state()})
        raise ServerStopping("the server is starting or stopping")

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counters, as Prometheus reads them."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    page = page_files()

    @app.get("/", include_in_schema=False)
    async def playground() -> Response:
        return page["index.html"].response()

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return page["docs.html"].response()

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in page:
            raise HTTPException(404)
        return page[name].response()


async def _stream_events(
    service: Service, job: Job, request: Request, inputs: int
) -> AsyncIterator[bytes]:
    """Server-sent events; a late error is the last event."""
    entry, target = _request_record(request), service.models[job.model].target
    done = 0
    ids: dict[int, list[int]] = {}
    try:
        async for event in _events(job, request, entry):
            for number, output in _outputs_of(event).items():
                service.metrics.counts.tokens += output.tokens
                data = b'{"input": %d, "output": %b}' % (number, output.json)
                yield b"event: output\ndata: %b\n\n" % data
                done += 1
            if done == inputs:
                break
            if not event.stable_tokens:
                continue
            sure = ids.setdefault(event.number, [])
            sure += [each.token for each in event.stable_tokens]
            names = target.tokens([each.token for each in event.stable_tokens])
            offsets = target.decoded_offsets(sure)[-len(names) :]
            tokens = [
                {"text": name, "log_probability": each.score, "offsets": at}
                for name, each, at in zip(names, event.stable_tokens, offsets, strict=True)
            ]
            yield _format_event(
                "tokens", {"input": event.number, "tokens": tokens, "text": target.cell(sure)}
            )
        entry.end("completed")
        yield _format_event("done", {"model": job.model, "seconds": round(entry.seconds, 6)})
    except SeqloomError as error:
        yield _format_event("error", error_body(error, request.scope["path"]))
    except Exception as error:
        log_fault(request, error)
        yield _format_event("error", error_body(server_fault(), request.scope["path"]))


def _outputs_of(event: Event) -> dict[int, RenderedOutput]:
    """The outputs in an event, by the indices of their inputs."""
    return dict(enumerate(event.outputs, start=event.number))


async def _all_outputs(
    job: Job, request: Request, entry: RequestRecord, count: int
) -> list[RenderedOutput]:
    """All `count` outputs in order; completes the request."""
    outputs: dict[int, RenderedOutput] = {}
    with _connection(request).watched(job.give_up):
        try:
            while len(outputs) < count:
                outputs |= _outputs_of(await _next_event(job, entry))
        finally:
            job.end()
    entry.end("completed")
    return [outputs[number] for number in range(count)]


def _list(outputs: Sequence[RenderedOutput]) -> bytes:
    return b"[%b]" % b",".join(each.json for each in outputs)


def _answer(model: str, kind: str, found: bytes, entry: RequestRecord) -> Response:
    """The response to a request, from rendered JSON."""
    return WholeResponse(
        b'%b%b,"seconds":%.6f}' % (_answer_head(model, kind), found, entry.seconds)
    )


@lru_cache(maxsize=64)
def _answer_head(model: str, kind: str) -> bytes:
    return f'{{"model":{json.dumps(model, ensure_ascii=False)},"{kind}":'.encode()


def _client(request: Request) -> Requester:
    """The client's address and connection."""
    client = request.scope.get("client")
    return Requester(str(client[0]) if client else "", _connection(request))


async def _events(job: Job, request: Request, entry: RequestRecord) -> AsyncIterator[Event]:
    """The events of a job until its reader stops; an error ends it."""
    with _connection(request).watched(job.give_up):
        try:
            while True:
                yield await _next_event(job, entry)
        finally:
            job.end()


async def _next_event(job: Job, entry: RequestRecord) -> Event:
    """The next event; raises its error, which ends the request."""
    event = await job.next_event()
    if event.error is not None:
        entry.end("cancelled" if isinstance(event.error, RequestCancelled) else "failed")
        raise event.error
    return event


def _connection(request: Request) -> Disconnection:
    """The notifier of the client's disconnection."""
    found: Disconnection = request.scope["state"].get(DISCONNECTION) or Disconnection()
    return found


def _request_record(request: Request) -> RequestRecord:
    entry: RequestRecord = request.scope["state"]["entry"]
    return entry


def _format_event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode()


def _json(content: Any, *, status: int = 200) -> Response:
    return JSONResponse(content, status)


class PageFile(NamedTuple):
    """A file of the playground."""

    content: bytes
    kind: str

    def response(self) -> Response:
        """A new response each time, since compression changes its headers."""
        return Response(self.content, media_type=f"{self.kind}; charset=utf-8")


def page_files() -> dict[str, PageFile]:
    """The playground's files, read once; no other file is ever served from disk."""
    folders = files("seqloom.serving") / "page", files("seqloom.drawing") / "scripts"
    return {
        each.name: PageFile(each.read_bytes(), KINDS[each.name.rpartition(".")[2]])
        for folder in folders
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in KINDS
    }
