"""The sandbox's own description: FastAPI's, with the answers, the media types and the database's pipeline."""

from collections.abc import Sequence
from typing import Any, Final

from fastapi.openapi.utils import get_openapi

from exporter.sandbox.operation import Access, Operation
from exporter.sandbox.schemas import SCHEMAS, reference

_JSON: Final = "application/json"
_CONTENT_TYPES: Final = (_JSON, "text/json", "application/merge-patch+json")
_ENVELOPE_FAILURE: Final = 202
_UNAUTHORISED: Final = 401
_FAILED: Final = 500
_FIELD_ERRORS: Final = frozenset({422, _FAILED})
_MEDIA_TYPES: Final = {"ProblemDetails": "application/problem+json", "FieldErrors": "application/problem+json"}
_MEANINGS: Final = {
    200: "Success",
    202: "A failure inside an envelope",
    400: "The request is wrong",
    401: "The request is not authorised",
    403: "The token does not allow it",
    404: "There is no such resource",
    413: "The body is too large",
    415: "The content type is not supported",
    422: "The request cannot be processed",
    500: "The platform failed",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """Describe the operations and the database's pipeline."""
    described = get_openapi(title="Edge platform sandbox", version="1.0.0", routes=operations)
    for operation in operations:
        one = described["paths"][operation.path][operation.method.lower()]
        one["x-documented"] = operation.documented
        one["security"] = [{"AccessKey": []}, *([] if operation.access is Access.ACCESS_KEY else [{"bearer": []}])]
        one["responses"] = {
            str(status): _answer(status, _schema(operation, status)) for status in (200, *operation.statuses)
        }
        if "requestBody" in one:
            one["requestBody"]["content"] = dict.fromkeys(_CONTENT_TYPES, one["requestBody"]["content"][_JSON])
    described["paths"]["/v2/pipeline"] = {"post": _pipeline()}
    schemas = described["components"]["schemas"] | SCHEMAS
    # FastAPI's own answers to a wrong request, which no operation sends.
    described["components"] = {
        "schemas": {name: schemas[name] for name in schemas if "ValidationError" not in name},
        "securitySchemes": {
            "AccessKey": {"type": "apiKey", "in": "header", "name": "AccessKey"},
            "bearer": {"type": "http", "scheme": "bearer"},
            "databaseToken": {"type": "http", "scheme": "bearer"},
        },
    }
    return described


def _schema(operation: Operation, status: int) -> str | None:
    """Return the name of the schema of an answer; None if it has no body."""
    schema = operation.unauthorised if status == _UNAUTHORISED else operation.errors
    if status in (200, _ENVELOPE_FAILURE):
        schema = operation.result
    elif schema == "FieldErrors" and status not in _FIELD_ERRORS:
        schema = "ProblemDetails"
    elif schema == "ScriptError" and status == _FAILED:
        schema = None
    return schema


def _answer(status: int, schema: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {"description": _MEANINGS[status]}
    if schema is not None:
        described["content"] = {_MEDIA_TYPES.get(schema, _JSON): {"schema": reference(schema)}}
    return described


def _pipeline() -> dict[str, Any]:
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "operationId": "database_pipeline",
        "summary": "Execute SQL statements",
        "security": [{"databaseToken": []}],
        "requestBody": {"required": True, "content": {_JSON: {"schema": reference("PipelineRequest")}}},
        "responses": {
            "200": _answer(200, "PipelineResponse"),
            **{str(status): _answer(status, "DatabaseError") for status in (401, 403)},
            **{str(status): _answer(status, None) | text for status in (400, 404, 413)},
        },
        "x-documented": True,
    }
