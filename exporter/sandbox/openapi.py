"""The sandbox's own description, in OpenAPI."""

from collections.abc import Iterable
from typing import Any, Final

from exporter.sandbox.operation import Access, Operation
from exporter.sandbox.schemas import SCHEMAS, reference

_JSON: Final = "application/json"
_CONTENT_TYPES: Final = (_JSON, "text/json", "application/merge-patch+json")
_ENVELOPE_FAILURE: Final = 202
_UNAUTHORISED: Final = 401
_FAILED: Final = 500
_FIELD_ERRORS: Final = frozenset({422, _FAILED})
_MEDIA_TYPES: Final = {"ProblemDetails": "application/problem+json", "FieldErrors": "application/problem+json"}
_KEY: Final[dict[str, list[str]]] = {"AccessKey": []}
_BEARER: Final[dict[str, list[str]]] = {"bearer": []}
_SECURITY: Final = {
    Access.STATISTICS: [_KEY, _BEARER],
    Access.ACCESS_KEY: [_KEY],
    Access.EITHER: [_KEY, _BEARER],
}
_MEANINGS: Final = {
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


def describe(operations: Iterable[Operation]) -> dict[str, Any]:
    """Describe the operations and the database's pipeline."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    paths["/v2/pipeline"] = {"post": _pipeline()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Edge platform sandbox", "version": "1.0.0"},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "AccessKey": {"type": "apiKey", "in": "header", "name": "AccessKey"},
                "bearer": {"type": "http", "scheme": "bearer"},
                "databaseToken": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    responses = {"200": {"description": "Success", "content": {_JSON: {"schema": reference(operation.result)}}}}
    for status in operation.statuses:
        responses[str(status)] = _failure(operation, status)
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": _SECURITY[operation.access],
        "parameters": [
            {"name": name, "in": place, "required": place == "path", "schema": schema}
            for place, schemas in (("path", operation.path_parameters), ("query", operation.query))
            for name, schema in schemas.items()
        ],
        "responses": responses,
        "x-documented": operation.documented,
    }
    if operation.body is not None:
        schema = operation.body.model_json_schema()
        content = {content_type: {"schema": schema} for content_type in _CONTENT_TYPES}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _failure(operation: Operation, status: int) -> dict[str, Any]:
    described: dict[str, Any] = {"description": _MEANINGS[status]}
    schema = operation.errors.unauthorised if status == _UNAUTHORISED else operation.errors.schema
    if status == _ENVELOPE_FAILURE:
        schema = operation.result
    elif schema == "ProblemDetails" and status in _FIELD_ERRORS:
        schema = "FieldErrors"
    elif schema == "ScriptError" and status == _FAILED:
        schema = None
    if schema is not None:
        described["content"] = {_MEDIA_TYPES.get(schema, _JSON): {"schema": reference(schema)}}
    return described


def _pipeline() -> dict[str, Any]:
    def answer(meaning: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"description": meaning, "content": {media_type: {"schema": schema}}}

    text = {"type": "string"}
    return {
        "operationId": "database_pipeline",
        "summary": "Execute SQL statements",
        "security": [{"databaseToken": []}],
        "requestBody": {"required": True, "content": {_JSON: {"schema": reference("PipelineRequest")}}},
        "responses": {
            "200": answer("The results", _JSON, reference("PipelineResponse")),
            "400": answer(_MEANINGS[400], "text/plain", text),
            "401": answer(_MEANINGS[401], _JSON, reference("DatabaseError")),
            "403": answer(_MEANINGS[403], _JSON, reference("DatabaseError")),
            "404": answer(_MEANINGS[404], "text/plain", text),
            "413": answer(_MEANINGS[413], "text/plain", text),
        },
        "x-documented": True,
    }
