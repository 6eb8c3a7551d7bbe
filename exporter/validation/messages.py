"""Writes validation errors as messages: what was found and what was expected, never a secret."""

from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from exporter.validation.faults import Fault, KeyPath, unknown_key, written
from exporter.validation.section import ELSEWHERE, EXPECTED, REFUSED

Locate = Callable[[KeyPath], tuple[str, int | None]]
Model = type[BaseModel]

_LONGEST_SHOWN = 60
_KIND_EXPECTED = {
    "string_type": "text",
    "path_type": "the name of a file",
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
}
_VALUE_EXPECTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
}
_BOUNDS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}


def faults_of(error: ValidationError, model: Model, locate: Locate) -> Iterator[Fault]:
    """Yield a fault for each error of validating against `model`; `locate` gives its source and line."""
    for details in error.errors(include_url=False):
        path: KeyPath = tuple(step for step in details["loc"] if step != "[key]")
        source, line = locate(path)
        if details["type"] == ELSEWHERE:
            context = details["ctx"]
            source, line = context["source"], context["line"]
        yield Fault(source, line, written(path), _message(details, path, model))


def _shown(value: object) -> str:
    """Return a value as a message shows it: scalars shortened, anything larger by its kind."""
    match value:
        case str():
            return repr(value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "…")
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return _kind_of(value)


def _kind_of(value: object) -> str:
    """Return the kind of a value, where the value itself may be a secret."""
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return "text"


def _message(details: ErrorDetails, path: KeyPath, model: Model) -> str:
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    _, field = _declared(model, path)
    found = "" if field is not None and _is_secret(field) else f"found {_shown(value)}, "
    message = details["msg"]
    if kind in (REFUSED, ELSEWHERE):
        message = str(context["message"])
    elif kind == EXPECTED:
        message = f"{found}expected {context['message']}"
    elif kind == "missing":
        said = field.description.rstrip(".") if field and field.description else ""
        message = "missing" + (f"; expected {said[0].lower()}{said[1:]}" if said else "")
    elif kind == "extra_forbidden":
        message = _unknown(path, model)
    elif kind in _KIND_EXPECTED:
        message = f"found {_kind_of(value)}, expected {_KIND_EXPECTED[kind]}"
    elif kind in _VALUE_EXPECTED:
        message = f"{found}expected {_VALUE_EXPECTED[kind]}"
    elif kind in _BOUNDS:
        (limit,) = context.values()
        message = f"{found}expected {_BOUNDS[kind]} {int(limit) if limit == int(limit) else limit}"
    elif kind == "too_long":
        message = f"found {context['actual_length']} items, expected at most {context['max_length']}"
    elif kind == "literal_error":
        choices = str(context["expected"]).replace(" or ", ", ").replace("'", "")
        message = f"{found}expected one of {choices}"
    return message


def _unknown(path: KeyPath, model: Model) -> str:
    """Return the message for an unknown key: what replaces it, a similar key, or one of its name on a lower level."""
    plain = ".".join(step for step in path if isinstance(step, str))
    if removed := getattr(model, "REMOVED", {}).get(plain):
        return f"removed; {removed}"
    section, _ = _declared(model, path[:-1])
    name = str(path[-1])
    deeper = next((".".join(found) for found in _paths(model) if found[-1] == name), "")
    return unknown_key(name, section.model_fields if _is_model(section) else (), deeper=deeper)


def _paths(model: Model) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        yield (name,)
        inner = _bare(field.annotation)
        if _is_model(inner):
            yield from ((name, *rest) for rest in _paths(inner))


def _is_secret(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return _bare(field.annotation) is SecretStr or (isinstance(extra, dict) and bool(extra.get("secret")))


def _is_model(annotation: object) -> TypeGuard[Model]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _declared(model: Model, path: KeyPath) -> tuple[object, FieldInfo | None]:
    """Return the declared type of the value at a path, and its field, if it is the value of a section's key."""
    annotation: object = model
    field: FieldInfo | None = None
    for step in path:
        if _is_model(annotation):
            field = annotation.model_fields.get(str(step))
            annotation = None if field is None else _bare(field.annotation)
        else:
            arguments = get_args(annotation)
            field, annotation = None, _bare(arguments[0 if isinstance(step, int) else -1]) if arguments else None
    return annotation, field


def _bare(annotation: object) -> object:
    """Return a declared type without its metadata, and without `| None`."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            annotation = next(part for part in get_args(annotation) if part is not type(None))
        else:
            return annotation
