"""The base class of the sections of a configuration, and the messages of faults."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType
from typing import Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from exporter.validation.configuration_errors import (
    ConfigurationError,
    ConfigurationFault,
    KeyPath,
    format_keys,
    suggestion,
)
from exporter.validation.yaml_file import MarkedFile

T = TypeVar("T")

# A fault in a section whose single values are valid: a path in the section (empty for all of it), and the message.
Conflict = tuple[KeyPath, str]

# The type of errors whose message is complete already: from a section inside this one, or from a conflict.
_WORDED = "worded"
_LONGEST_SHOWN = 60
# Type of pydantic's error → the expected value, if pydantic's message does not describe it plainly.
_STRUCTURES = {
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
}
_PLAIN = {
    **_STRUCTURES,
    "string_type": "text",
    "path_type": "the name of a file",
    "int_parsing_size": "a shorter integer",
}


class Section(BaseModel):
    """A part of a configuration. Where null is no valid value, a key without a value counts as missing.

    Validators of values raise ValueError. If the message begins with "expected", the fault also shows the value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def conflicts(self) -> Iterable[Conflict]:
        """Return the conflicts between keys; called if the value of each key is valid."""
        return ()

    @model_validator(mode="wrap")
    @classmethod
    def _report_every_fault(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        given = {key: value for key, value in data.items() if value is not None or cls._may_be_null(key)}
        try:
            section = handler(given)
        except ValidationError as error:
            found = error.errors(include_url=False)
            errors = [_worded(details["loc"], _message(details, cls.model_fields)) for details in found]
            raise ValidationError.from_exception_data(cls.__name__, errors) from None
        if conflicts := [_worded(path, message) for path, message in section.conflicts()]:
            raise ValidationError.from_exception_data(cls.__name__, conflicts)
        return section

    @classmethod
    def _may_be_null(cls, key: str) -> bool:
        field = cls.model_fields.get(key)
        # An unknown key stays in the data even without a value, so that the key is reported as unknown.
        return field is None or NoneType in get_args(field.annotation)


def leaves(section: Section, path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo, object]]:
    """Yield path, field and value of each declared key. A key with sections is replaced by the keys of the sections."""
    for key, field in type(section).model_fields.items():
        value, place = getattr(section, key), (*path, key)
        if isinstance(value, Section):
            yield from leaves(value, place)
        elif isinstance(value, tuple) and any(isinstance(item, Section) for item in value):
            for number, item in enumerate(value):
                yield from leaves(item, (*place, number))
        else:
            yield place, field, value


def broken(*rules: tuple[object, str, str]) -> Iterator[Conflict]:
    """Yield a conflict for each broken rule; a rule is a tuple: whether the rule is broken, a key, and a message."""
    return (((key,), message) for is_broken, key, message in rules if is_broken)


def duplicates(values: Iterable[tuple[KeyPath, object]]) -> Iterator[Conflict]:
    """Yield a conflict for each path with the value of an earlier path; `values` are pairs of path and value."""
    seen: dict[object, KeyPath] = {}
    for path, value in values:
        if value in seen:
            yield path, f"duplicate '{str(value)[:_LONGEST_SHOWN]}', first in {format_keys(seen[value])}"
        seen.setdefault(value, path)


def validated(
    file: MarkedFile,
    make: Callable[[], T],
    further: Iterable[ConfigurationFault] = (),
    removed: Mapping[str, str] = {},
) -> T:
    """Return the result of `make`; raises ConfigurationError with the faults of a ValidationError and `further` ones.

    `removed` maps the path of a removed key, without list indices, to the advice in the message.
    """
    faults = list(further)
    try:
        value = make()
    except ValidationError as error:
        for details in error.errors(include_url=False):
            # If a key in a mapping is wrong, pydantic adds this step to the path.
            path: KeyPath = tuple(step for step in details["loc"] if step != "[key]")
            instead = removed.get(".".join(step for step in path if isinstance(step, str)))
            faults.append(file.fault(path, f"removed; {instead}" if instead else details["msg"]))
        raise ConfigurationError(faults) from None
    if faults:
        raise ConfigurationError(faults)
    return value


def _worded(path: KeyPath, message: str) -> InitErrorDetails:
    error = PydanticCustomError(_WORDED, "{message}", {"message": message})
    return InitErrorDetails(type=error, loc=path, input=None)


def _message(details: ErrorDetails, fields: Mapping[str, FieldInfo]) -> str:
    kind, context, key = details["type"], details.get("ctx", {}), str(details["loc"][0])
    if kind == _WORDED:
        return details["msg"]
    if kind == "extra_forbidden":
        return f"unknown key{suggestion(key, fields)}"
    if kind == "missing":
        meaning = (fields[key].description or "").partition(";")[0].rstrip(".")
        return f"missing; expected {meaning[:1].lower()}{meaning[1:]}"
    if kind == "too_long":
        return f"found too many items, expected at most {context['max_length']}"
    if kind == "value_error":
        message = str(context["error"])
        # A message with another beginning does not show the value, which may be a secret (see `Section`).
        return f"found {_shown(details)}, {message}" if message.startswith("expected ") else message
    # pydantic's messages are "Input should be WHAT" or "Input should be WHAT, unable to …".
    expected = _PLAIN.get(kind) or details["msg"].removeprefix("Input should be ").partition(", unable to ")[0]
    if kind.startswith(("greater_than", "less_than")):
        expected = f"a number {expected}"
    return f"found {_shown(details)}, expected {expected}"


def _shown(details: ErrorDetails) -> str:
    value: object = details["input"]
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        # Text in place of a mapping or a list may contain a secret, as in `- api_key:KEY`.
        case str() if details["type"] in _STRUCTURES:
            return "text"
        case str():
            return repr(value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…")
        case _:
            return str(value)
