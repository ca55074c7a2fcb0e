"""The answers as they are described in openapi.json; `Output.as_dict` has the real ones."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict

from seqloom.serving.errors import describe_code, error_classes
from seqloom.serving.guard import OPEN_PATHS

__all__ = [
    "ErrorAnswer",
    "LookAnswer",
    "ModelsAnswer",
    "PredictAnswer",
    "ScoreAnswer",
    "SearchesAnswer",
    "describe_api",
]

PROBLEM_EXAMPLE: dict[str, Any] = {
    "type": "/docs#limit",
    "title": "Something larger than the configured limits allow",
    "status": 422,
    "detail": "width: 5,000 is more than this server's paths, 64",
    "error": "width: 5,000 is more than this server's paths, 64",
    "place": "width",
    "problem": "5,000 is more than this server's paths, 64",
    "remedy": "",
    "code": "limit",
}


class ErrorAnswer(BaseModel):
    """Problem details (RFC 9457), with the parts of the sentence and a stable code."""

    model_config = ConfigDict(json_schema_extra={"examples": [PROBLEM_EXAMPLE]})

    type: str
    title: str
    status: int
    detail: str
    error: str
    place: str
    problem: str
    remedy: str
    code: str


class LikelyAnswer(BaseModel):
    """A symbol that could have been written."""

    text: str
    log_probability: float | None


class TokenAnswer(LikelyAnswer):
    """A symbol of an output; the log-probability of what cannot be is null."""

    offsets: tuple[int, int] | None = None  # in the output's text, in code points
    alternatives: list[LikelyAnswer] = []
    copied: bool = False


class ForecastAnswer(BaseModel):
    """The steps after a series: the mean and quantiles of each column, a list each."""

    time: str
    times: list[str]
    mean: dict[str, list[float]]
    quantiles: dict[str, dict[str, list[float]]]


class WarningAnswer(BaseModel):
    """A reason to doubt an output: `unknown_input` with the share that is unknown to the model, or
    `long_input` with a number of tokens that is beyond all that was learnt from."""

    kind: str
    value: float


class OutputAnswer(BaseModel):
    """An output with what explains it; what was not asked for is absent."""

    text: str
    score: float | None
    normalised: float | None
    tokens: list[TokenAnswer]
    stopped: str
    source: list[str]
    source_offsets: list[tuple[int, int]] = []  # in the text as given, in code points
    truncated: bool
    pieces: int = 1
    piece_ends: list[tuple[int, int]] = []  # source items and tokens up to the end of each
    warnings: list[WarningAnswer] = []
    attention: list[list[float]] = []
    n_best: list["OutputAnswer"] = []
    tree: list[dict[str, Any]] = []
    forecast: ForecastAnswer | None = None


class PredictAnswer(BaseModel):
    """An output for each input, in order."""

    model: str
    outputs: list[OutputAnswer]
    seconds: float


class ScoredAnswer(BaseModel):
    """How likely a given output is; the score of what cannot be is null."""

    score: float | None
    tokens: list[TokenAnswer]


class ScoreAnswer(BaseModel):
    """A score for each pair, in order."""

    model: str
    scores: list[ScoredAnswer]
    seconds: float


class LookAnswer(BaseModel):
    """What was to be seen of one output; its names depend on what that is."""

    model: str
    look: dict[str, Any]
    seconds: float


class FieldAnswer(BaseModel):
    """What a model reads or writes."""

    kind: str
    longest: int | None = None
    unit: str | None = None
    symbols: int | None = None
    labels: list[str] | None = None
    numbers: int | None = None
    height: int | None = None
    width: int | None = None
    grid: tuple[int, int] | None = None
    rate: int | None = None
    columns: list[str] | None = None
    steps: int | None = None
    marker: str | None = None
    folds_capitals: bool | None = None
    splits: bool | None = None  # whether an input that is too long can be read in pieces


class ExampleAnswer(BaseModel):
    """An input from the held-out rows, and what was wanted for it."""

    input: Any
    reference: str


class ModelAnswer(BaseModel):
    """A model under the name that requests call it by."""

    name: str
    source: FieldAnswer
    target: FieldAnswer
    search: dict[str, Any] | None
    verb: str
    summary: str
    data: str
    result: str
    examples: list[ExampleAnswer]
    notes: list[str] = []  # steps that could not be used, and what is used in their place
    loaded: bool = True  # these four only where models are loaded on demand
    loads: int = 1  # how often it was loaded
    evictions: int = 0  # how often it was given up for others
    bytes: int = 0  # that it takes with the processes that decode it


class ModelsAnswer(BaseModel):
    """The models, the first of which answers where none is named, and the server's limits."""

    models: list[ModelAnswer]
    limits: dict[str, float]
    needs_token: bool


class OptionAnswer(BaseModel):
    """An option of a search: its bounds here, and the value that a chooser begins with."""

    name: str
    whole: bool
    default: float | None
    least: float | None
    most: float
    help: str


class SearchAnswer(BaseModel):
    """A search, under the kind that requests call it by."""

    kind: str
    title: str
    help: str
    takes_n_best: bool
    random: bool
    options: list[OptionAnswer]


class SearchesAnswer(BaseModel):
    """The searches that requests may name."""

    searches: list[SearchAnswer]


SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "the server's token"},
    "password": {"type": "http", "scheme": "basic", "description": "any name; the token"},
}


def describe_api(app: FastAPI) -> dict[str, Any]:
    """The description of an API, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = document["components"]["schemas"]
        schemas["ErrorAnswer"] = ErrorAnswer.model_json_schema()
        document["components"]["securitySchemes"] = SECURITY
        document["security"] = [{}, *({name: []} for name in SECURITY)]
        for path in OPEN_PATHS:
            document["paths"][path]["get"]["security"] = []
        kinds = sorted(error_classes().items())
        document["x-codes"] = {code: describe_code(kind) for code, kind in kinds}
        app.openapi_schema = document
    return app.openapi_schema
