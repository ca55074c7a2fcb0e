"""Error responses with problem details (RFC 9457)."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from seqloom.errors import ConfigError, SeqloomError
from seqloom.serving.errors import (
    PROBLEM,
    MalformedRequest,
    RequestRefused,
    error_body,
    retry_after,
)
from seqloom.serving.metrics import log

__all__ = ["MALFORMED", "add_error_handlers", "answer_error", "log_fault", "server_fault"]

FAULT = "the model failed on this request; the server's log has its number"
MALFORMED = "the body is not JSON that can be read"


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers that answer every error with problem details."""

    async def handle(request: Request, error: Exception) -> Response:
        return answer_error(request, error)

    for kind in (SeqloomError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, handle)


def answer_error(request: Request, error: Exception) -> Response:
    """The response to a request that failed with this error."""
    told, headers = _public_error(request, error), dict[str, str]()
    if isinstance(error, HTTPException) and error.headers:
        headers |= error.headers
    if (seconds := retry_after(told)) is not None:
        headers["retry-after"] = str(seconds)
    body = error_body(told, request.scope["path"])
    return JSONResponse(body, told.http_status, headers, media_type=PROBLEM)


def _public_error(request: Request, error: Exception) -> SeqloomError:
    """The error as reported to clients, without text of the request."""
    match error:
        case SeqloomError():
            return error
        case RequestValidationError() | ValidationError():
            return _first_fault(error.errors())
        case HTTPException(status_code=status):
            words = {400: MALFORMED, 404: "there is nothing here"}
            told = words.get(status, "the method is not allowed here")
            remedy = "" if status == 400 else "see /docs for what can be asked"
            return RequestRefused(told, status=status, remedy=remedy)
        case _:
            log_fault(request, error)
            return server_fault()


def _first_fault(faults: Sequence[Any]) -> SeqloomError:
    """The first validation error, without the submitted value."""
    if not faults:
        return ConfigError("the request is not as it should be")
    first = faults[0]
    if first["type"] == "json_invalid":
        return MalformedRequest(MALFORMED, place="body")
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    problem = "it is missing" if first["type"] == "missing" else first["msg"][:200]
    return ConfigError(_safe(problem), place=_safe(place or "body"))


def server_fault() -> SeqloomError:
    """The public form of an internal error."""
    return SeqloomError(FAULT)


def log_fault(request: Request, error: Exception) -> None:
    """Log the location of an error without its message, which may hold text of the request."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    log("fault", kind=type(error).__name__, place=place, path=request.scope["path"])


def _safe(text: str) -> str:
    """Text in valid Unicode; names in a request may be invalid."""
    return text.encode("utf-8", "replace").decode()
