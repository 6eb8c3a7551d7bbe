"""Reads the values that the command line and the environment set, with the flag or variable of each."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from exporter.settings.faults import Fault, KeyPath, suggestion, written
from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    DATABASE_VARIABLES,
    FIRST_ACCOUNT,
    FIRST_DATABASE,
    PREFIX,
    Flag,
)
from exporter.settings.flags import list_variables

_NULL = "null"
# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
_PAIRS = {
    "api_key": "api_key_file",
    "api_key_file": "api_key",
    "auth_token": "auth_token_file",
    "auth_token_file": "auth_token",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one source.

    Attributes:
        data: The values that it sets, nested like the model.
        origins: Path of each value → the flag or variable that sets it.
        faults: What is wrong with the source itself.
    """

    data: dict[str, object] = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def put(self, path: KeyPath, value: object, origin: str) -> None:
        """Set a value; missing mappings on its path are made."""
        inner = self.data
        for step in path[:-1]:
            below = inner.setdefault(str(step), {})
            assert isinstance(below, dict)  # noqa: S101 - only leaves of the model are put, and none is below another
            inner = below
        inner[str(path[-1])] = value
        self.origins[path] = origin


def flag_layer(values: Mapping[str, str], known: tuple[Flag, ...], below: Mapping[str, object]) -> Layer:
    """Return the values of the command line; `below` has the values that they are merged with."""
    layer = Layer()
    by_name = {flag.name: flag for flag in known}
    account: dict[str, tuple[str, str]] = {}
    for name, text in values.items():
        flag = by_name.get(name)
        if flag is None:
            layer.faults.append(Fault(name, None, "", f"unknown flag{suggestion(name, by_name)}"))
        elif flag.path[:2] == FIRST_ACCOUNT:
            account[str(flag.path[2])] = (text, name)
        else:
            layer.put(flag.path, _value(flag, text), name)
    _lay_over_the_one(layer, below, FIRST_ACCOUNT, account, {"name": "main"})
    return layer


def environment_layer(environ: Mapping[str, str], known: tuple[Flag, ...], below: Mapping[str, object]) -> Layer:
    """Return the values of the environment; `below` as in `flag_layer`. An empty variable counts as not set."""
    layer = Layer()
    by_variable = {flag.variable: flag for flag in known if flag.path[:2] != FIRST_ACCOUNT}
    account: dict[str, tuple[str, str]] = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or not text.strip() or variable == CONFIG_VARIABLE:
            continue
        if variable in ACCOUNT_VARIABLES:
            account[ACCOUNT_VARIABLES[variable]] = (text, variable)
        elif variable in by_variable:
            flag = by_variable[variable]
            layer.put(flag.path, _value(flag, text), variable)
        elif not _SERVICE_LINK.fullmatch(variable):
            names = (*by_variable, *ACCOUNT_VARIABLES, CONFIG_VARIABLE)
            layer.faults.append(Fault(variable, None, "", _unknown_variable(variable, names)))
    _lay_over_the_one(layer, below, FIRST_ACCOUNT, account, {"name": "main"})
    _attach_database(layer, environ, below)
    return layer


def _unknown_variable(variable: str, known: tuple[str, ...]) -> str:
    lists = list_variables()
    if variable in lists:
        return f"{written(lists[variable])} is a list, which only the configuration file can set"
    return f"unknown variable{suggestion(variable, known)}"


def _value(flag: Flag, text: str) -> str | None:
    return None if flag.nullable and text.strip() == _NULL else text


def _lay_over_the_one(
    layer: Layer,
    below: Mapping[str, object],
    path: KeyPath,
    values: Mapping[str, tuple[str, str]],
    new: Mapping[str, object],
) -> None:
    """Merge values into the only account or database, or make one if there is none."""
    kind = str(path[0])
    listed = below.get(kind) or []
    if not values or not isinstance(listed, list):
        return
    if len(listed) > 1:
        message = f"there are {len(listed)} {kind}; set it in the file for one of them"
        layer.faults.extend(Fault(origin, None, "", message) for _, origin in values.values())
        return
    one = listed[0] if listed else new
    if not isinstance(one, Mapping):
        return
    replaced = {_PAIRS[key] for key in values if key in _PAIRS} - values.keys()
    kept = {key: value for key, value in one.items() if key not in replaced}
    layer.data[kind] = [{**kept, **{key: text for key, (text, _) in values.items()}}]
    layer.origins.update({(*path, key): origin for key, (_, origin) in values.items()})


def _attach_database(layer: Layer, environ: Mapping[str, str], below: Mapping[str, object]) -> None:
    """Add the database that the platform attached, or complete the only configured one with its values."""
    given = {
        key: (environ[variable], variable)
        for variable, key in DATABASE_VARIABLES.items()
        if environ.get(variable, "").strip()
    }
    listed = below.get("databases") or []
    if not given or not isinstance(listed, list) or len(listed) > 1:
        return
    if not listed and "url" not in given:
        url, token = DATABASE_VARIABLES
        layer.faults.append(Fault(token, None, "", f"there is no database for this token; set {url}"))
        return
    lacking = dict(_lacking(listed[0], given)) if listed and isinstance(listed[0], Mapping) else given
    _lay_over_the_one(layer, below, FIRST_DATABASE, lacking, {"name": "default"})


def _lacking(
    database: Mapping[str, object], given: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, tuple[str, str]]]:
    url = database.get("url")
    has_token = any(database.get(key) is not None for key in ("auth_token", "auth_token_file"))
    for key, value in given.items():
        is_there = url is not None if key == "url" else has_token or "authToken=" in str(url)
        if not is_there:
            yield key, value
