"""Loads the settings from flags, environment and file, in this precedence, or reports the faults of all three."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.settings.flags import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    CONTAINER_LISTEN,
    DATABASE_VARIABLES,
    PREFIX,
)
from exporter.settings.flags import flags as every_flag
from exporter.settings.model import Settings
from exporter.settings.removed import REMOVED
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, Place, suggestion
from exporter.validation.section import validated
from exporter.validation.yaml_file import NULL, Data, MarkedFile, read_marked

# Path of a value → the value, and the flag or variable that sets it.
Given = dict[KeyPath, tuple[object, Place]]

# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "url_file": "url"}
_LISTS = ("accounts", "databases")


def configuration_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the given configuration file, else the one that `EDGE_EXPORTER_CONFIG` names, else None."""
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return config or (Path(named) if named else None)


def load(config: Path | None, flags: Mapping[str, str] | None, environ: Mapping[str, str]) -> Settings:
    """Load the settings from flags, environment and file.

    Args:
        config: The configuration file; without one, the file that `EDGE_EXPORTER_CONFIG` names, if any.
        flags: The values of flags by their names, such as `--web.listen`.
        environ: The environment; an empty variable counts as not set.

    Raises:
        ConfigurationError: Something is wrong; it holds every fault.
    """
    path = configuration_file(config, environ)
    file = MarkedFile("", {}) if path is None else read_marked(path)
    data = file.data or {}
    present = {name: text for name, text in environ.items() if text.strip()}
    known = every_flag()
    variables = {flag.variable: flag.path for flag in known} | ACCOUNT_VARIABLES
    by_variable = _given(present, _fallbacks(data) | variables)
    above = by_variable | _given(flags or {}, {flag.name: flag.path for flag in known})
    settable = {path: Place(name) for name, path in (ACCOUNT_VARIABLES | DATABASE_VARIABLES).items()}
    places = {**file.places, **{path: place for path, (_, place) in above.items()}}
    file = replace(file, places=places, settable=settable)
    sections = _nested({path: one for path, one in above.items() if path[0] in _LISTS or _is_section(data, path[:-1])})
    faults = list(_unknown(present, variables))
    for kind in _LISTS:
        faults += _complete(sections, data, kind, [place for path, (_, place) in above.items() if path[0] == kind])
    settings = validated(file, lambda: Settings(sections, **data), faults, REMOVED)
    settings.come_from(file)
    return settings


def _complete(sections: dict[Any, Any], data: Data, kind: str, places: Iterable[Place]) -> list[ConfigurationFault]:
    """Add what flags and variables set to the only item of a list; return a fault for each if there are several."""
    above, item, listed = sections.pop(kind, {}), _only_item(data, kind), data.get(kind)
    if above and item is not None:
        sections[kind] = [item | above[0]]
        return []
    if not isinstance(listed, list) or len(listed) == 1:
        return []
    problem = f"there are {len(listed)} {kind}; set it in the file for one of them"
    return [ConfigurationFault(*place, "", problem) for place in places]


def _only_item(data: Data, kind: str) -> Data | None:
    """Return the values of the only account or database, which variables may complete; empty if there is none.

    Returns None if there are several, or if it is not a list of mappings, which its validation reports.
    """
    listed = data.get(kind) or [{}]
    if not isinstance(listed, list) or len(listed) > 1 or not isinstance(listed[0], Mapping):
        return None
    return {key: value for key, value in listed[0].items() if value is not None}


def _fallbacks(data: Data) -> dict[str, KeyPath]:
    """Return the variables of the platform and of the image that set what the file leaves open."""
    web, database = data.get("web") or {}, _only_item(data, "databases")
    listens = not isinstance(web, Mapping) or web.get("listen") is not None
    found: dict[str, KeyPath] = {} if listens else {CONTAINER_LISTEN: ("web", "listen")}
    if database is not None:
        lacking = {key for key in ("url", "auth_token") if database.keys().isdisjoint({key, f"{key}_file"})}
        found |= {name: path for name, path in DATABASE_VARIABLES.items() if path[-1] in lacking}
    return found


def _given(texts: Mapping[str, str], paths: Mapping[str, KeyPath]) -> Given:
    """Return the values that flags or variables set; what stands later in `paths` outranks what stands before."""
    given: Given = {}
    for name, path in paths.items():
        if name in texts:
            given[path] = None if texts[name].strip() in NULL else texts[name], Place(name)
    for path, (value, place) in list(given.items()):
        if value is not None and path[-1] in _PAIRS:
            given.setdefault((*path[:-1], _PAIRS[str(path[-1])]), (None, place))
    return given


def _unknown(variables: Mapping[str, str], known: Mapping[str, KeyPath]) -> Iterator[ConfigurationFault]:
    """Yield a fault for each variable that is meant for the exporter and does not exist."""
    for name in variables.keys() - known.keys() - {CONFIG_VARIABLE}:
        if name.startswith(PREFIX) and not _SERVICE_LINK.fullmatch(name):
            # All variables have the prefix in common.
            near = suggestion(name, (*known, CONFIG_VARIABLE), similarity=0.8)
            hint = near or "; only the configuration file sets lists"
            yield ConfigurationFault(name, None, "", f"unknown variable{hint}")


def _is_section(data: object, path: KeyPath) -> bool:
    """Return whether the file has a section at the path, or nothing; what else stands there is the file's fault."""
    for step in path:
        data = (data.get(step) or {}) if isinstance(data, Mapping) else data
    return isinstance(data, Mapping)


def _nested(above: Given) -> dict[Any, Any]:
    """Return what flags and variables set, by sections; the items of a list by their places."""
    data: dict[Any, Any] = {}
    for path, (value, _) in above.items():
        section = data
        for step in path[:-1]:
            section = section.setdefault(step, {})
        section[path[-1]] = value
    return data
