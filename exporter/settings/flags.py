"""Every single value that can be set outside the file: its path, its flag and its environment variable."""

from collections.abc import Iterator
from typing import get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from exporter.settings.faults import KeyPath
from exporter.settings.flag import Flag, account_flags, flag_of, names_of
from exporter.settings.section import Section
from exporter.settings.sections import Sections

FIRST_DATABASE: KeyPath = ("databases", 0)
_DATABASE_VARIABLES = {"url": "PLATFORM_DATABASE_URL", "auth_token": "PLATFORM_DATABASE_AUTH_TOKEN"}


def flags() -> tuple[Flag, ...]:
    """Every flag, in the model's order. Secrets have none: a process's flags can be seen by others."""
    defaults = Sections.model_construct()
    others = (
        flag_of(field, path, *names_of(path), _default(defaults, path)) for path, field in _scalar_leaves(Sections, ())
    )
    return (*account_flags(), *others)


def database_variables() -> dict[str, str]:
    """The variables that the platform sets where a database is attached, and the database's key that each sets."""
    return {variable: key for key, variable in _DATABASE_VARIABLES.items()}


def _scalar_leaves(model: type[BaseModel], path: KeyPath) -> Iterator[tuple[KeyPath, FieldInfo]]:
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _scalar_leaves(kind, (*path, key))
        elif get_origin(kind) is not tuple and SecretStr not in get_args(kind):
            yield (*path, key), field


def _default(defaults: BaseModel, path: KeyPath) -> object:
    """The value where nothing is set; that of an interval is its collector's, and no field's."""
    value: object = defaults
    for step in path:
        value = getattr(value, str(step))
    return value


def list_variables() -> dict[str, KeyPath]:
    """What the variables of lists would be called, for those who try; lists are set in the file alone."""
    return {names_of(path)[1]: path for path in _lists(Sections, ())}


def _lists(model: type[BaseModel], path: KeyPath) -> Iterator[KeyPath]:
    for key, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _lists(kind, (*path, key))
        elif get_origin(kind) is tuple:
            yield (*path, key)
