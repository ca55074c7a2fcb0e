"""What can go wrong with a request beside what is wrong in it."""

import json
from collections.abc import Collection
from typing import Any

from seqloom.errors import ConfigError, SeqloomError
from seqloom.remedies import Command, Phrase, Place, Setting, Wording
from seqloom.serving.requests import LookRequest, PredictRequest, ScoreRequest

__all__ = [
    "PROBLEM",
    "MalformedRequest",
    "RequestRefused",
    "RequestWording",
    "UnknownModel",
    "describe_code",
    "error_body",
    "error_classes",
    "retry_after",
    "wording_of",
]


class UnknownModel(ConfigError):
    """A model that this server does not have."""

    http_status = 404
    code = "model"


class MalformedRequest(ConfigError):
    """A body that is not JSON."""

    http_status = 400
    code = "malformed"


class RequestRefused(SeqloomError):
    """A request that is refused; it has the status to answer with."""

    code = "refused"

    def __init__(
        self, problem: str, *, status: int = 400, place: Place = "", remedy: Phrase = ""
    ) -> None:
        super().__init__(problem, place=place, remedy=remedy)
        self.http_status = status
        if status in (429, 503):
            self.retry_after = 1


def retry_after(error: SeqloomError) -> int | None:
    """The seconds after which the same request may be taken, where waiting helps."""
    seconds: int | None = getattr(error, "retry_after", None)
    return seconds


def error_classes() -> dict[str, type[SeqloomError]]:
    """Every kind of error that is defined so far, by its code; the more general of two is first."""
    found: dict[str, type[SeqloomError]] = {}
    waiting: list[type[SeqloomError]] = [SeqloomError]
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.code, kind)
        waiting += kind.__subclasses__()
    return found


PROBLEM = "application/problem+json"


class RequestWording(Wording):
    """Words for a kind of request, by the names of its fields."""

    def __init__(self, fields: Collection[str]) -> None:
        self.fields = fields

    def setting(self, setting: Setting) -> str | None:
        """`"name": value` as it stands in the request; None where no field has the name."""
        if setting.name not in self.fields:
            return None
        name = json.dumps(setting.name)
        return name if setting.value is None else f"{name}: {json.dumps(setting.value)}"

    def command(self, command: Command) -> str | None:
        """Nothing is run by a request."""
        del command
        return None


WORDINGS = {
    "/v1/look": RequestWording(LookRequest.model_fields),
    "/v1/score": RequestWording(ScoreRequest.model_fields),
}
PREDICTION = RequestWording(PredictRequest.model_fields)


def wording_of(path: str) -> RequestWording:
    """The words for requests to a path."""
    return WORDINGS.get(path, PREDICTION)


def error_body(error: SeqloomError, path: str) -> dict[str, Any]:
    """The answer as problem details (RFC 9457), with the parts of the sentence and a code for the
    kind of error; `error` is the sentence under the name that it had before."""
    parts = error.parts(wording_of(path))
    return {
        "type": f"/docs#{error.code}",
        "title": describe_code(error),
        "status": error.http_status,
        "detail": parts.sentence,
        "error": parts.sentence,
        **parts._asdict(),
        "code": error.code,
    }


def describe_code(error: SeqloomError | type[SeqloomError]) -> str:
    """What all errors of a kind have in common, from the first line of its class."""
    return (error.__doc__ or "").strip().partition("\n")[0].partition(";")[0].rstrip(".")
