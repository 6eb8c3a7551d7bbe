"""`config`: shows the settings and where each was set, one setting a line or as JSON; secrets are masked."""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import click
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from exporter.collectors.endpoints.expression import Expression
from exporter.collectors.endpoints.path import Path as EndpointPath
from exporter.commands.options import SettingsCommand, config_option, form_option
from exporter.commands.output.printing import echo
from exporter.mask import MASK
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.untrusted.patterns import Pattern
from exporter.validation.configuration_errors import KeyPath, format_keys
from exporter.validation.section import leaves
from exporter.validation.types import format_duration


@click.group("config")
def command() -> None:
    """Show the settings; `edge-exporter assets configuration DIR` writes an example of the file."""


@command.command("show", cls=SettingsCommand, short_help="Show the merged settings and where each was set.")
@form_option("text", "json")
@config_option
def show(config: Path | None, *, form: str, flags: Mapping[str, str]) -> None:
    """Show the merged settings and where each was set: a flag, a variable, a line of the file, or the default.

    Secrets are masked.
    """
    settings = load(config, flags, os.environ)
    rows = list(_rows(settings))
    if form == "json":
        echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        for row in rows:
            echo(f"{row['path']}: {json.dumps(row['value'], ensure_ascii=False)}  # {row['origin']}")


def _rows(settings: Settings) -> Iterator[dict[str, object]]:
    # `leaves(settings)` has only the built-in collectors.
    of_endpoints = [
        leaves(settings.collectors.of_endpoint(one), ("collectors", one.name)) for one in settings.endpoints
    ]
    # The interval of an endpoint can be set in two places; `collectors` has priority.
    second_places: dict[KeyPath, KeyPath] = {
        ("collectors", one.name, "interval"): ("endpoints", place, "interval")
        for place, one in enumerate(settings.endpoints)
    }
    for path, field, value in chain(leaves(settings), *of_endpoints):
        places = [path, second_places[path]] if path in second_places else [path]
        yield {"path": format_keys(path), "value": _plain(value, field), "origin": settings.origin(*places)}


def _plain(value: object, field: FieldInfo) -> object:
    shown: object
    match value:
        case SecretStr():
            shown = MASK
        case Pattern():
            shown = value.pattern
        case tuple():
            shown = [_plain(item, field) for item in value]
        case Mapping():
            shown = {key: _plain(item, field) for key, item in value.items()}
        # A number is a duration if `DURATION` is its placeholder in the help of flags.
        case float() if "DURATION" in field.metadata:
            shown = format_duration(value)
        case None | bool() | int() | float() | str():
            shown = value
        case EndpointPath() | Expression():
            shown = value.text
        case _:
            shown = str(value)
    return shown
