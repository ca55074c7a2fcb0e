"""openapi.json: the routes, the ways to give a token, and every code of an error."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from seqloom.serving.errors import describe_code, error_classes
from seqloom.serving.guard import OPEN_PATHS
from seqloom.serving.responses import ErrorAnswer

__all__ = ["describe_api"]

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
