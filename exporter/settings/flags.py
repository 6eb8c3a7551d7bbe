"""Lists flags and environment variables, with the paths of the settings that they set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from exporter.settings.account import AccountSettings
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import KeyPath
from exporter.validation.secrets import Secret
from exporter.validation.section import leaves
from exporter.validation.types import format_duration

PREFIX = "EDGE_EXPORTER_"
FIRST_ACCOUNT, FIRST_DATABASE = ("accounts", 0), ("databases", 0)
_METAVARS: dict[object, str] = {bool: "true|false", int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE"}


def variable_of(*keys: str | int) -> str:
    """Return the name of a variable: EDGE_EXPORTER_WEB__LISTEN for `web` and `listen`."""
    return PREFIX + "__".join(map(str, keys)).upper()


CONFIG_VARIABLE = variable_of("config")
# Variables that the platform sets for an attached database.
DATABASE_VARIABLES: dict[str, KeyPath] = {
    "PLATFORM_DATABASE_URL": (*FIRST_DATABASE, "url"),
    "PLATFORM_DATABASE_AUTH_TOKEN": (*FIRST_DATABASE, "auth_token"),
}
# Variables that the platform and the image set; flags, the file and other variables have priority over these.
FALLBACK_VARIABLES: dict[str, KeyPath] = DATABASE_VARIABLES | {"CONTAINER_LISTEN": ("web", "listen")}


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line.

    Attributes:
        name: the flag as it is written, such as `--web.listen`.
        variable: the environment variable that can set the value in place of the flag.
        path: the place of the value in the model.
        metavar: the placeholder for the value in the help text.
        default: the default value as text; empty if there is none.
    """

    name: str
    variable: str
    path: KeyPath
    help: str
    metavar: str
    default: str


def flags() -> tuple[Flag, ...]:
    """Return the flags, including those of three keys of the first account."""
    fields = AccountSettings.model_fields
    of_account = (
        ((*FIRST_ACCOUNT, key), fields[key], fields[key].default) for key in ("base_url", "api_key_file", "auth")
    )
    defaults = Settings.model_construct()  # not validated: there is no account
    return tuple(
        _flag(path, field, default)
        for path, field, default in (*of_account, *leaves(defaults))
        # Lists have no flags. Secrets have none, because other users of the machine can see the flags of a process.
        if get_origin(field.annotation) is not tuple and field.annotation != Secret
    )


def variables() -> dict[str, KeyPath]:
    """Return variable → path of the value, for the flags and the API key of the first account, which has no flag."""
    return {**{flag.variable: flag.path for flag in flags()}, variable_of("api_key"): (*FIRST_ACCOUNT, "api_key")}


def _flag(path: KeyPath, field: FieldInfo, default: object) -> Flag:
    keys = path[2:] if path[:2] == FIRST_ACCOUNT else path
    name = "--" + ".".join(map(str, keys)).replace("_", "-")
    default_text = "" if field.is_required() else _default_text(default)
    return Flag(name, variable_of(*keys), path, field.description or "", _metavar(field), default_text)


def _default_text(default: object) -> str:
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    # A float as the default of a flag is a duration in seconds.
    return format_duration(default) if isinstance(default, float) else str(default)


def _metavar(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return "|".join(get_args(field.annotation))
    placeholders = (extra for extra in field.metadata if isinstance(extra, str))
    return next(placeholders, _METAVARS.get(field.annotation, "TEXT"))
