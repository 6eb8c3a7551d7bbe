"""Every single value that can be set outside the file: its path, its flag and its environment variable."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from exporter.settings.account import AccountSettings
from exporter.settings.faults import KeyPath
from exporter.settings.model import Settings
from exporter.settings.section import Section
from exporter.settings.types import Metavar, format_duration

PREFIX = "EDGE_EXPORTER_"
FIRST_ACCOUNT: KeyPath = ("accounts", 0)
FIRST_DATABASE: KeyPath = ("databases", 0)
_ACCOUNT_VARIABLES = ("base_url", "api_key", "api_key_file", "auth")
_ACCOUNT_FLAGS = ("base_url", "api_key_file", "auth")
_DATABASE_VARIABLES = {"url": "PLATFORM_DATABASE_URL", "auth_token": "PLATFORM_DATABASE_AUTH_TOKEN"}
_METAVARS: dict[object, str] = {bool: "true|false", int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE"}


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line.

    Attributes:
        name: As it is written: `--web.listen`.
        path: Where its value goes in the model.
        help: What it sets, in a sentence.
        metavar: What stands for the value in the help text.
        default: The value when nothing sets it, as it is written; empty for none.
        variable: The environment variable that sets the same.
        nullable: Whether `null` is a value of it.
    """

    name: str
    path: KeyPath
    help: str
    metavar: str
    default: str
    variable: str
    nullable: bool


def flags() -> tuple[Flag, ...]:
    """Every flag, in the model's order. Secrets have none: a process's flags can be seen by others."""
    account = (
        _flag(field, (*FIRST_ACCOUNT, key), f"--{_dashed(key)}", PREFIX + key.upper())
        for key, field in AccountSettings.model_fields.items()
        if key in _ACCOUNT_FLAGS
    )
    return (*account, *(_flag(field, path, *_names(path)) for path, field in _scalar_leaves(Settings, ())))


def account_variables() -> dict[str, str]:
    """The variables of the one account: the variable's name, and the account's key that it sets."""
    return {PREFIX + key.upper(): key for key in _ACCOUNT_VARIABLES}


def database_variables() -> dict[str, str]:
    """The variables that the platform sets where a database is attached, and the database's key that each sets."""
    return {variable: key for key, variable in _DATABASE_VARIABLES.items()}


def _names(path: KeyPath) -> tuple[str, str]:
    steps = [str(step) for step in path]
    return "--" + ".".join(map(_dashed, steps)), PREFIX + "__".join(steps).upper()


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def _scalar_leaves(model: type[BaseModel], path: KeyPath) -> Iterator[tuple[KeyPath, FieldInfo]]:
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _scalar_leaves(kind, (*path, key))
        elif get_origin(kind) is not tuple and SecretStr not in get_args(kind):
            yield (*path, key), field


def _flag(field: FieldInfo, path: KeyPath, name: str, variable: str) -> Flag:
    return Flag(
        name=name,
        path=path,
        help=field.description or "",
        metavar=_metavar(field),
        default=_default(field, path),
        variable=variable,
        nullable=NoneType in get_args(field.annotation),
    )


def _metavar(field: FieldInfo) -> str:
    said = next((extra.text for extra in field.metadata if isinstance(extra, Metavar)), None)
    if said is not None:
        return said
    if get_origin(field.annotation) is Literal:
        return "|".join(get_args(field.annotation))
    return _METAVARS.get(field.annotation, "TEXT")


def _default(field: FieldInfo, path: KeyPath) -> str:
    """The value where nothing is set; a collector's differ, so the whole model's defaults are asked."""
    value = field.default if path[0] == "accounts" else Settings.model_fields[str(path[0])].default
    if path[0] != "accounts":
        for step in path[1:]:
            value = getattr(value, str(step))
    if value is None:
        return "null"
    if value is PydanticUndefined:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if isinstance(value, float) else str(value)


def list_variables() -> dict[str, KeyPath]:
    """What the variables of lists would be called, for those who try; lists are set in the file alone."""
    return {_names(path)[1]: path for path in _lists(Settings, ())}


def _lists(model: type[BaseModel], path: KeyPath) -> Iterator[KeyPath]:
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _lists(kind, (*path, key))
        elif get_origin(kind) is tuple:
            yield (*path, key)
