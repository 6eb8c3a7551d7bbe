"""Holds answers against their descriptions in OpenAPI."""

import re
from typing import Any

import httpx

from exporter.sandbox.schemas import SCHEMAS

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check(answer: httpx.Response, described: dict[str, Any]) -> None:
    """Hold an answer against the description of its operation."""
    response = described["responses"].get(str(answer.status_code))
    assert response is not None, f"{answer.request.url}: {answer.status_code} is not described"
    content = response.get("content")
    if content is None:
        assert answer.content == b""
        return
    ((media_type, body),) = content.items()
    assert answer.headers["content-type"].partition(";")[0] == media_type
    if media_type != "text/plain":
        assert faults(body["schema"], answer.json()) == []


def faults(schema: dict[str, Any], value: Any, where: str = "$") -> list[str]:
    """Return what is wrong with a value by a schema."""
    if "$ref" in schema:
        return faults(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]], value, where)
    if "oneOf" in schema:
        each = [faults(option, value, where) for option in schema["oneOf"]]
        return [] if sum(not found for found in each) == 1 else [f"{where}: fits {each}"]
    allowed = schema.get("type", [])
    names = [allowed] if isinstance(allowed, str) else allowed
    if names and not any(type(value) in TYPES[name] for name in names):
        return [f"{where}: {value!r} is no {names}"]
    match value:
        case dict():
            return _faults_of_object(schema, value, where)
        case list():
            return [one for inner in value for one in faults(schema["items"], inner, f"{where}[]")]
        case _:
            return _faults_of_scalar(schema, value, where)


def _faults_of_scalar(schema: dict[str, Any], value: Any, where: str) -> list[str]:
    """Return what is wrong with a value that holds no others."""
    if value not in schema.get("enum", [value]):
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    if isinstance(value, str) and re.search(schema.get("pattern", ""), value) is None:
        return [f"{where}: {value!r} does not match {schema['pattern']}"]
    return []


def _faults_of_object(schema: dict[str, Any], value: dict[str, Any], where: str) -> list[str]:
    """Return what is wrong with an object; what is not described is wrong too, unless the object is free."""
    properties = schema.get("properties", {})
    more = schema.get("additionalProperties", not properties)
    found = [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
    for key, inner in value.items():
        if key in properties:
            found += faults(properties[key], inner, f"{where}.{key}")
        elif isinstance(more, dict):
            found += faults(more, inner, f"{where}.{key}")
        elif not more:
            found.append(f"{where}: {key} is not described")
    return found
