"""Parses and checks the parameters of an operation, written as `name=value`; click stops at the first fault."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exporter.commands.output.printing import MISUSE, complain
from exporter.foreign.regular_file import unreadable
from exporter.platform.operation import Operation, Parameter, Request, Scalar
from exporter.validation.faults import suggestion

_SHOWN = 60
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)


class WrongValueError(Exception):
    """A value is not valid for its parameter, or cannot be read; the message says why."""


class Sources:
    """Reads the values of `-` (standard input, at most once) and `@FILE`."""

    def __init__(self) -> None:
        self._is_spent = False

    def read(self, word: str, *, secret: bool = False) -> str:
        """Return the text that `-` or `@FILE` stands for, without the line break at its end.

        Raises:
            WrongValueError: it cannot be read.
        """
        name = "standard input" if word == "-" else word[1:]
        try:
            whole = (self._standard_input(is_typed_hidden=secret) if word == "-" else Path(name).read_bytes()).decode()
        except UnicodeDecodeError:
            raise WrongValueError(f"{name} is not UTF-8 text") from None
        except OSError as error:
            raise WrongValueError(f"{Path(name)} {unreadable(error)}") from None
        except ValueError:
            raise WrongValueError("is not the name of a file") from None
        return whole.removesuffix("\n").removesuffix("\r")

    def _standard_input(self, *, is_typed_hidden: bool) -> bytes:
        if self._is_spent:
            raise WrongValueError("another argument already takes standard input")
        self._is_spent = True
        if is_typed_hidden and sys.stdin.isatty():
            typed: str = click.prompt("Secret", hide_input=True, err=True, default="", show_default=False)
            return typed.encode("utf-8", "surrogateescape")
        return sys.stdin.buffer.read()


def stands_for_something(text: str) -> bool:
    """Return whether a text is `-` (standard input) or `@FILE`."""
    return text == "-" or (text.startswith("@") and len(text) > 1)


def parse(operation: Operation[Any], words: Sequence[str], sources: Sources) -> tuple[Request[Any], tuple[str, ...]]:
    """Return the request of an operation with arguments `name=value`, and the values in it that no output may show.

    If some are wrong, the command ends with a line for each fault.
    """
    given, faults = _sorted_out(operation, words)
    values: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    secrets: list[str] = []
    for parameter in operation.parameters:
        name = parameter.name
        if name not in given:
            if parameter.required:
                faults.append(f"{name}: missing; expected {expectation(parameter)}: {parameter.help}")
            continue
        try:
            value = _value(parameter, given[name], sources)
        except WrongValueError as error:
            faults.append(f"{name}: {error}")
            continue
        values[parameter.place][name] = value
        if parameter.secret:
            secrets.append(value)
    if faults:
        complain("\n".join(faults), MISUSE)
    body = values["body"] if operation.method != "GET" else None
    return Request(operation, values["path"], values["query"], body), tuple(secrets)


def _sorted_out(operation: Operation[Any], words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the given values by parameter, and the faults of the other arguments."""
    known = [parameter.name for parameter in operation.parameters]
    given: dict[str, str] = {}
    faults: list[str] = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            # The text may be the secret itself, so it is not shown.
            has_secret = any(parameter.secret for parameter in operation.parameters)
            found = "an argument without '='" if has_secret else _shown(word)
            faults.append(f"found {found}, expected NAME=VALUE")
        elif name not in known:
            has = f"; it has {', '.join(known)}" if known else "; it has none"
            faults.append(f"{operation.name} has no parameter {_shown(name)}{suggestion(name, known) or has}")
        elif name in given:
            faults.append(f"{name}: given twice")
        else:
            given[name] = text
    return given, faults


def _value(parameter: Parameter, text: str, sources: Sources) -> Any:  # noqa: ANN401 - any JSON
    if parameter.secret:
        if not stands_for_something(text):
            raise WrongValueError("a secret is taken from standard input (-) or a file (@FILE), never from an argument")
        if secret := sources.read(text, secret=True):
            return secret
        raise WrongValueError("is empty")
    if parameter.type == "json":
        return _array(sources.read(text) if stands_for_something(text) else text)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise WrongValueError("is not UTF-8 text")
    allowed = parameter.allowed
    value = _enumerated(text, allowed) if allowed is not None else _TYPES[parameter.type][0](text)
    if value is None:
        raise WrongValueError(f"found {_shown(text)}, expected {expectation(parameter)}")
    return value


def _enumerated(text: str, allowed: Mapping[int, str]) -> int | None:
    """Return the number for its text, or for a name in upper or lower case; None if it is not allowed."""
    wanted = text.casefold().replace("-", "_")
    return next((value for value, name in allowed.items() if name == wanted or value == _integer(text)), None)


def _array(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise WrongValueError(f"is not JSON{place}; expected a JSON array") from None
    if not isinstance(value, list):
        raise WrongValueError(f"found {_shown(text)}, expected a JSON array")
    return value


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) and int(text) in _INT64 else None


def _date_time(text: str) -> str | None:
    """Return a moment as it is sent: a day unchanged, a time in UTC; a time without a zone is UTC."""
    is_day = _DATE.fullmatch(text) is not None
    if not is_day and not _DATE_TIME.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return text if is_day else aware.isoformat().replace("+00:00", "Z")


# How the text of a value is parsed (None if it is wrong), and what is expected.
_TYPES: Mapping[str, tuple[Callable[[str], Scalar | None], str]] = {
    "integer": (_integer, "a whole number of 64 bits"),
    "boolean": ({"true": True, "false": False}.get, "true or false"),
    "date-time": (_date_time, "a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z"),
    "json": (str, "a JSON array, - (standard input) or @FILE"),
    "string": (str, "text"),
}


def expectation(parameter: Parameter) -> str:
    """Describe the values that a parameter takes."""
    if parameter.secret:
        return "- (standard input) or @FILE"
    if parameter.allowed is not None:
        return "one of " + ", ".join(f"{name} ({number})" for number, name in parameter.allowed.items())
    return _TYPES[parameter.type][1]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
