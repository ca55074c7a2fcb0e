"""Errors in the words of a request: remedies name its fields, and an answer has the parts."""

import json
from collections.abc import Collection
from typing import Any

from seqloom.errors import SeqloomError
from seqloom.remedies import Command, Setting, Wording
from seqloom.serving.requests import PredictRequest, ScoreRequest

__all__ = ["RequestWording", "error_body", "wording_of"]


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
    """The answer: one sentence, its parts, and a code for the kind of error."""
    parts = error.parts(wording_of(path))
    return {"error": parts.sentence, **parts._asdict(), "code": error.code}
