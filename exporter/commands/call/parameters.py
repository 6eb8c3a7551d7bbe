"""Makes the options of a command line from the parameters of an operation."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exporter.foreign.regular_file import unreadable
from exporter.platform.operation import Operation, Parameter

# The type of an option: returns what is sent for a text, or raises BadParameter.
Parse = click.ParamType[Any] | Callable[[str], Any]


def options_of(operation: Operation[Any]) -> list[click.Option]:
    """Return an option for each parameter. Its value is as it is sent; of a named number it is the name."""
    return [
        click.Option([f"--{one.name}", one.name], type=_type_of(one), required=one.required, help=one.help)
        for one in operation.parameters
    ]


def _type_of(parameter: Parameter) -> Parse:
    if parameter.secret:
        return secret
    if parameter.allowed is not None:
        return click.Choice(list(parameter.allowed.values()), case_sensitive=False)
    return _TYPES[parameter.type]


def text(word: str) -> str:
    """Return a text that can be sent."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("is not UTF-8 text") from None
    return word


def moment(word: str) -> str:
    """Return a day, or a time with its zone; a time without one is UTC."""
    try:
        parsed = datetime.fromisoformat(word)
    except ValueError:
        raise click.BadParameter("expected a date or a time such as 2026-02-06 or 2026-02-06T12:00:00Z") from None
    if ":" not in word:
        return parsed.date().isoformat()
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return aware.isoformat().replace("+00:00", "Z")


def array(word: str) -> list[Any]:
    """Return a JSON array, which may be in standard input (`-`) or a file (`@FILE`)."""
    try:
        found = json.loads(read(word))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise click.BadParameter("expected a JSON array, - (standard input) or @FILE with one")
    return found


def secret(word: str) -> str:
    """Return a secret from standard input, where a person types it unseen, or from a file."""
    if click.get_current_context().resilient_parsing:
        return word
    if not _stands_for_a_text(word):
        raise click.BadParameter("a secret is taken from standard input (-) or a file (@FILE), never from an argument")
    is_typed = word == "-" and sys.stdin.isatty()
    try:
        found = click.prompt("Secret", hide_input=True, err=True) if is_typed else read(word)
    except click.Abort:
        raise click.BadParameter("nothing was typed, and nothing sent") from None
    if not found:
        raise click.BadParameter("is empty")
    return str(found)


_TYPES: Mapping[str, Parse] = {
    "integer": click.IntRange(-(2**63), 2**63 - 1),
    "boolean": click.BOOL,
    "date-time": moment,
    "json": array,
    "string": text,
}


def _stands_for_a_text(word: str) -> bool:
    return word == "-" or (word.startswith("@") and len(word) > 1)


def read(word: str) -> str:
    """Return the text of `-` (standard input) or `@FILE`, without the line break at its end; another word unchanged.

    Raises:
        BadParameter: it cannot be read.
    """
    if not _stands_for_a_text(word):
        return word
    name = "standard input" if word == "-" else word[1:]
    try:
        whole = sys.stdin.buffer.read() if word == "-" else Path(name).read_bytes()
        return whole.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise click.BadParameter(f"{name} is not UTF-8 text") from None
    except OSError as error:
        raise click.BadParameter(f"{name} {unreadable(error)}") from None
    except ValueError:
        raise click.BadParameter("is not the name of a file") from None
