"""A flag of the command line with its environment variable, and the flags of an account."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from exporter.settings.account import AccountSettings
from exporter.settings.faults import KeyPath
from exporter.settings.types import Metavar, format_duration

PREFIX = "EDGE_EXPORTER_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
FIRST_ACCOUNT: KeyPath = ("accounts", 0)
FIRST_DATABASE: KeyPath = ("databases", 0)
_ACCOUNT_VARIABLES = ("base_url", "api_key", "api_key_file", "auth")
_ACCOUNT_FLAGS = ("base_url", "api_key_file", "auth")
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

    @property
    def is_of_account(self) -> bool:
        """Whether it sets a value of the one account."""
        return self.path[:2] == FIRST_ACCOUNT


def account_flags() -> Iterator[Flag]:
    """The flags that say which account is asked, and how."""
    for key, field in AccountSettings.model_fields.items():
        if key in _ACCOUNT_FLAGS:
            default = field.get_default(call_default_factory=True)
            yield flag_of(field, (*FIRST_ACCOUNT, key), f"--{_dashed(key)}", PREFIX + key.upper(), default)


def account_variables() -> dict[str, str]:
    """The variables of the one account: the variable's name, and the account's key that it sets."""
    return {PREFIX + key.upper(): key for key in _ACCOUNT_VARIABLES}


def names_of(path: KeyPath) -> tuple[str, str]:
    """The flag and the variable of a value outside the accounts."""
    steps = [str(step) for step in path]
    return "--" + ".".join(map(_dashed, steps)), PREFIX + "__".join(steps).upper()


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def flag_of(field: FieldInfo, path: KeyPath, name: str, variable: str, default: object) -> Flag:
    """The flag that sets a field; `default` is the value where nothing does."""
    return Flag(
        name=name,
        path=path,
        help=field.description or "",
        metavar=_metavar(field),
        default=_written(default),
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


def _written(value: object) -> str:
    if value is None:
        return "null"
    if value is PydanticUndefined:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if isinstance(value, float) else str(value)
