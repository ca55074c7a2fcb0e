"""Errors in the words of a request: remedies name its fields, and an answer has the parts."""

import json
from collections.abc import Collection
from typing import Any

from seqloom.errors import SeqloomError
from seqloom.remedies import Command, Setting, Wording
from seqloom.serving.requests import PredictRequest, ScoreRequest

__all__ = ["PROBLEM", "RequestWording", "describe_code", "error_body", "wording_of"]

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


WORDINGS = {"/v1/score": RequestWording(ScoreRequest.model_fields)}
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
