"""Reads the values that flags and variables set, and makes the sources from which the settings are merged."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic_settings import EnvSettingsSource, InitSettingsSource, PydanticBaseSettingsSource

from exporter.settings.faults import Fault, KeyPath, suggestion, written
from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    DATABASE_VARIABLES,
    FIRST_ACCOUNT,
    FIRST_DATABASE,
    PREFIX,
    Flag,
    variable_of,
)
from exporter.settings.flags import list_variables
from exporter.settings.model import Settings

_NULL = "null"
# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "auth_token": "auth_token_file"}
# The names of an account and of a database that only variables describe.
_NAMES = {"accounts": "main", "databases": "default"}


class Given(NamedTuple):
    """A value that a flag or a variable sets.

    Attributes:
        path: its place in the settings.
        text: the value; None for null.
        origin: the flag or the variable.
    """

    path: KeyPath
    text: str | None
    origin: str


def given_flags(values: Mapping[str, str], known: Iterable[Flag]) -> Iterator[Given | Fault]:
    """Yield the values of the command line."""
    by_name = {flag.name: flag for flag in known}
    for name, text in values.items():
        if name in by_name:
            yield _given(by_name[name], text, name)
        else:
            yield Fault(name, None, "", f"unknown flag{suggestion(name, by_name)}")


def given_variables(
    environ: Mapping[str, str], known: Iterable[Flag], file: Mapping[str, object]
) -> Iterator[Given | Fault]:
    """Yield the values of the environment; an empty variable counts as not set.

    Args:
        environ: the environment.
        known: all flags, which have the names of variables.
        file: the content of the configuration file.
    """
    by_variable = {flag.variable: flag for flag in known if not flag.is_of_account}
    for variable, text in environ.items():
        if not text.strip() or variable == CONFIG_VARIABLE:
            continue
        if variable in by_variable:
            yield _given(by_variable[variable], text, variable)
        elif variable in ACCOUNT_VARIABLES:
            yield Given(ACCOUNT_VARIABLES[variable], text, variable)
        elif variable.startswith(PREFIX) and not _SERVICE_LINK.fullmatch(variable):
            names = (*by_variable, *ACCOUNT_VARIABLES, CONFIG_VARIABLE)
            yield Fault(variable, None, "", _unknown_variable(variable, names))
    yield from _attached_database(environ, file)


def _given(flag: Flag, text: str, origin: str) -> Given:
    return Given(flag.path, None if flag.nullable and text.strip() == _NULL else text, origin)


def _unknown_variable(variable: str, known: tuple[str, ...]) -> str:
    lists = list_variables()
    if variable in lists:
        return f"{written(lists[variable])} is a list, which only the configuration file can set"
    return f"unknown variable{suggestion(variable, known)}"


def _attached_database(environ: Mapping[str, str], file: Mapping[str, object]) -> Iterator[Given | Fault]:
    """Yield what describes the database that the platform attached, or what the only configured one lacks."""
    given = [
        Given(path, environ[variable], variable)
        for variable, path in DATABASE_VARIABLES.items()
        if environ.get(variable, "").strip()
    ]
    listed = file.get("databases") or []
    if not given or not isinstance(listed, list) or len(listed) > 1:
        return
    if not listed and given[0].path[-1] != "url":
        url, token = DATABASE_VARIABLES
        yield Fault(token, None, "", f"there is no database for this token; set {url}")
        return
    database = listed[0] if listed and isinstance(listed[0], Mapping) else {}
    address = database.get("url")
    has_token = any(database.get(key) is not None for key in ("auth_token", "auth_token_file"))
    has = {"url": address is not None, "auth_token": has_token or "authToken=" in str(address)}
    yield from (one for one in given if not has[str(one.path[-1])])


def fitting(given: Iterable[Given | Fault], file: Mapping[str, object]) -> Iterator[Given | Fault]:
    """Refuse a value of the first account or database if the file has several; drop it if what it has is not one."""
    for one in given:
        if isinstance(one, Fault) or one.path[:2] not in (FIRST_ACCOUNT, FIRST_DATABASE):
            yield one
            continue
        kind = str(one.path[0])
        listed = file.get(kind) or []
        if isinstance(listed, list) and len(listed) > 1:
            yield Fault(one.origin, None, "", f"there are {len(listed)} {kind}; set it in the file for one of them")
        elif not listed or (isinstance(listed, list) and isinstance(listed[0], Mapping)):
            yield one


def sources_of(
    command_line: Sequence[Given], environment: Sequence[Given], file: Mapping[str, object]
) -> tuple[PydanticBaseSettingsSource, ...]:
    """Return the sources of the settings, the highest first; `Settings` merges their mappings key by key.

    An account or database of which a flag or a variable sets something is a mapping in a mapping by its place, so that
    it is merged, too.
    """
    merged = {str(one.path[0]) for one in (*command_line, *environment)} & _NAMES.keys()
    lists = {kind: file.get(kind) or [{"name": _NAMES[kind]}] for kind in merged}
    placed = {kind: {"0": listed[0]} for kind, listed in lists.items() if isinstance(listed, list)}
    return _source(command_line), _source(environment), InitSettingsSource(Settings, {**file, **placed})


def _source(given: Iterable[Given]) -> EnvSettingsSource:
    """Return the values as variables, whose names pydantic-settings splits into sections and keys."""
    values: dict[KeyPath, str | None] = {
        (*one.path[:-1], _PAIRS[str(one.path[-1])]): None for one in given if one.path[-1] in _PAIRS
    }
    values.update((one.path, one.text) for one in given)
    source = EnvSettingsSource(Settings)
    source.env_vars = {variable_of(*path).lower(): text for path, text in values.items()}
    return source
