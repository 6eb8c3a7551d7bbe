"""Words validation errors: what was found and what was expected, never a secret."""

from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from exporter.validation.faults import Fault, KeyPath, Place, suggestion, written

# The types of errors that have their whole message, and of those to which the found value is added.
WORDED = "worded"
EXPECTED = "expected"

_LONGEST_SHOWN = 60
# What pydantic says in the words of Python.
_STRUCTURES = {
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
}
_PLAIN = {
    **_STRUCTURES,
    "string_type": "text",
    "path_type": "the name of a file",
    "path_not_file": "an existing file",
}


def faults_of(error: ValidationError, model: type[BaseModel], locate: Callable[[KeyPath], Place]) -> Iterator[Fault]:
    """Yield a fault for each error of validating a whole configuration; `locate` gives the place of a value."""
    removed: Mapping[str, str] = getattr(model, "REMOVED", {})
    for details in error.errors(include_url=False):
        path: KeyPath = tuple(step for step in details["loc"] if step != "[key]")
        place: Place = details.get("ctx", {}).get("place") or locate(path)
        key = ".".join(step for step in path if isinstance(step, str))
        message = f"removed; {removed[key]}" if key in removed else details["msg"]
        yield Fault(place.source, place.line, written(path), message)


def worded(details: ErrorDetails, section: type[BaseModel]) -> InitErrorDetails:
    """Return the error of a section, or of a section in it, with its message."""
    context = details.get("ctx", {})
    if details["type"] != WORDED:
        context = {"message": _message(details, section.model_fields)}
    return InitErrorDetails(type=PydanticCustomError(WORDED, "{message}", context), loc=details["loc"], input=None)


def _message(details: ErrorDetails, fields: Mapping[str, FieldInfo]) -> str:
    kind, context, key = details["type"], details.get("ctx", {}), str(details["loc"][0])
    field = fields.get(key)
    if kind == "extra_forbidden":
        return f"unknown key{suggestion(key, fields)}"
    if kind == "missing" and field is not None:
        said = (field.description or "").rstrip(".")
        return f"missing; expected {said[:1].lower()}{said[1:]}" if said else "missing"
    if kind == "too_long":
        return f"found {context['actual_length']} items, expected at most {context['max_length']}"
    if kind == EXPECTED:
        what = str(context["message"])
    else:
        what = _PLAIN.get(kind) or details["msg"].removeprefix("Input should be ").partition(", unable to ")[0]
    return (
        f"expected {what}" if field is not None and _is_secret(field) else f"found {_shown(details)}, expected {what}"
    )


def _is_secret(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    is_marked = isinstance(extra, dict) and bool(extra.get("secret"))
    return is_marked or SecretStr in (field.annotation, *get_args(field.annotation))


def _shown(details: ErrorDetails) -> str:
    """Return a value as a message shows it: scalars shortened; by its kind what is larger, or could be anything."""
    value: object = details["input"]
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case str() if details["type"] in _STRUCTURES:
            return "text"
        case str():
            is_whole = len(value) <= _LONGEST_SHOWN or details["type"] == "path_not_file"
            return repr(value if is_whole else f"{value[:_LONGEST_SHOWN]}…")
        case _:
            return str(value)
