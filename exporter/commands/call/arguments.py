"""Parses and checks the parameters of an operation, written as `name=value`."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from exporter.platform.operation import Operation, Parameter, Scalar
from exporter.validation.faults import suggestion

_SHOWN = 60
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)
_BOOLEANS = {"true": True, "false": False}


class Source(Protocol):
    """Reads the text for `-` (standard input) or `@FILE`."""

    def __call__(self, text: str, *, secret: bool) -> str:
        """Return the text.

        Raises:
            SourceError: it cannot be read.
        """
        ...


class SourceError(Exception):
    """The text for `-` or `@FILE` cannot be read; the message says why."""


class ArgumentsError(Exception):
    """The arguments are wrong; the message has a line for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of a request by their places.

    Attributes:
        body: None if the operation has no body.
        secrets: values that no output may show.
    """

    path: Mapping[str, Scalar] = field(default_factory=dict)
    query: Mapping[str, Scalar] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()


def parse(operation: Operation[Any], words: Sequence[str], read: Source) -> Arguments:
    """Parse the arguments of an operation.

    Args:
        operation: the operation.
        words: the arguments, `name=value` each.
        read: reads the text for `-` and `@FILE`.

    Raises:
        ArgumentsError: some are wrong; the message names every fault.
    """
    known = {parameter.name: parameter for parameter in operation.parameters}
    given, faults = _sorted_out(operation, words)
    values: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    secrets: list[str] = []
    for name, parameter in known.items():
        if name not in given:
            if parameter.required:
                faults.append(f"{name}: missing; expected {expectation(parameter)}: {parameter.help}")
            continue
        try:
            value = _value(parameter, given[name], read)
        except (_WrongError, SourceError) as error:
            faults.append(f"{name}: {error}")
            continue
        values[parameter.place][name] = value
        if parameter.secret:
            secrets.append(value)
    if faults:
        raise ArgumentsError(faults)
    has_body = operation.method != "GET"
    return Arguments(values["path"], values["query"], values["body"] if has_body else None, tuple(secrets))


def _sorted_out(operation: Operation[Any], words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the given values by parameter, and the faults of the other arguments."""
    known = [parameter.name for parameter in operation.parameters]
    given: dict[str, str] = {}
    faults: list[str] = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            # The text may be the secret itself, so it is not shown.
            found = "an argument without '='" if _has_secret(operation) else _shown(word)
            faults.append(f"found {found}, expected NAME=VALUE")
        elif name not in known:
            has = f"; it has {', '.join(known)}" if known else "; it has none"
            faults.append(f"{operation.name} has no parameter {_shown(name)}{suggestion(name, known) or has}")
        elif name in given:
            faults.append(f"{name}: given twice")
        else:
            given[name] = text
    return given, faults


def _has_secret(operation: Operation[Any]) -> bool:
    return any(parameter.secret for parameter in operation.parameters)


class _WrongError(Exception):
    """A value is not valid for its parameter."""


def _value(parameter: Parameter, text: str, read: Source) -> Any:  # noqa: ANN401 - any JSON
    if parameter.secret:
        if not stands_for_something(text):
            raise _WrongError("a secret is taken from standard input (-) or a file (@FILE), never from an argument")
        secret = read(text, secret=True)
        if not secret:
            raise _WrongError("is empty")
        return secret
    if parameter.type == "json":
        return _array(read(text, secret=False) if stands_for_something(text) else text)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise _WrongError("is not UTF-8 text")
    if parameter.allowed is not None:
        value: Scalar | None = _enumerated(text, parameter.allowed)
    else:
        value = _PARSERS[parameter.type](text)
    if value is None:
        raise _WrongError(f"found {_shown(text)}, expected {expectation(parameter)}")
    return value


def _enumerated(text: str, allowed: Mapping[int, str]) -> int | None:
    """Return the number for its text, or for a name in upper or lower case; None if it is not allowed."""
    number = _integer(text)
    if number is not None:
        return number if number in allowed else None
    wanted = text.casefold().replace("-", "_")
    return next((value for value, name in allowed.items() if name == wanted), None)


def stands_for_something(text: str) -> bool:
    """Return whether a text is `-` (standard input) or `@FILE`."""
    return text == "-" or (text.startswith("@") and len(text) > 1)


def _array(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _WrongError(f"is not JSON{place}; expected a JSON array") from None
    if not isinstance(value, list):
        raise _WrongError(f"found {_shown(text)}, expected a JSON array")
    return value


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) and int(text) in _INT64 else None


def _date_time(text: str) -> str | None:
    """Return a moment as it is sent: a day unchanged, a time in UTC; a time without a zone is UTC."""
    if not _DATE.fullmatch(text) and not _DATE_TIME.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if _DATE.fullmatch(text):
            return text
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return aware.isoformat().replace("+00:00", "Z")


_PARSERS: Mapping[str, Callable[[str], Scalar | None]] = {
    "integer": _integer,
    "boolean": _BOOLEANS.get,
    "date-time": _date_time,
    "string": str,
}


def expectation(parameter: Parameter) -> str:
    """Describe the values that a parameter takes."""
    if parameter.secret:
        return "- (standard input) or @FILE"
    if parameter.allowed is not None:
        return "one of " + ", ".join(f"{name} ({number})" for number, name in parameter.allowed.items())
    return {
        "integer": "a whole number of 64 bits",
        "boolean": "true or false",
        "date-time": "a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z",
        "json": "a JSON array, - (standard input) or @FILE",
        "string": "text",
    }[parameter.type]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
