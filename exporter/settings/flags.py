"""Lists every value that a flag and an environment variable can set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from exporter.settings.flag import ACCOUNT_FLAGS, Flag
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import KeyPath
from exporter.validation.section import Section
from exporter.validation.types import Metavar, format_duration

_METAVARS: dict[object, str] = {bool: "true|false", int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE"}


def flags() -> tuple[Flag, ...]:
    """Return every flag, in the order of the model. Secrets have none: other users can read a process's flags."""
    others = (
        _flag(path, field, default)
        for path, field, default in _leaves(Settings.model_construct(), ())
        if get_origin(field.annotation) is not tuple and SecretStr not in get_args(field.annotation)
    )
    return (*ACCOUNT_FLAGS, *others)


def _leaves(section: Section, path: KeyPath) -> Iterator[tuple[KeyPath, FieldInfo, object]]:
    """Return the place of every field below a section, and its default; a list of sections is one field."""
    for key, field in type(section).model_fields.items():
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), field, value


def _flag(path: KeyPath, field: FieldInfo, default: object) -> Flag:
    text = "null" if default is None else str(default)
    if isinstance(default, bool):
        text = text.lower()
    elif isinstance(default, float):
        text = format_duration(default)
    return Flag(path, field.description or "", _metavar(field), text)


def _metavar(field: FieldInfo) -> str:
    said = next((extra.text for extra in field.metadata if isinstance(extra, Metavar)), None)
    if said is not None:
        return said
    if get_origin(field.annotation) is Literal:
        return "|".join(get_args(field.annotation))
    return _METAVARS.get(field.annotation, "TEXT")
