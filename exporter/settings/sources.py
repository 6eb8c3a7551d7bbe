"""Reads the values of flags and variables, and lays them over those of the file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    CONTAINER_LISTEN,
    DATABASE_VARIABLES,
    PREFIX,
)
from exporter.settings.flags import flags as every_flag
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, Place, suggestion
from exporter.validation.yaml_file import NULL, Data, MarkedFile

# Path of a value → the value, and the place of the flag or variable that sets it; None for the file.
Given = dict[KeyPath, tuple[object, Place | None]]

# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
# The lists whose only item flags and variables complete, with its name if they alone describe it.
_NAMES = {"accounts": "main", "databases": "default"}
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "auth_token_file": "auth_token"}
# Variables that set what flags, other variables and the file leave open.
_LOWEST = {**DATABASE_VARIABLES, CONTAINER_LISTEN: ("web", "listen")}


def laid_over(file: MarkedFile, flags: Mapping[str, str], environ: Mapping[str, str]) -> tuple[Data, MarkedFile]:
    """Lay the values of flags and variables over those of a file.

    Args:
        file: the configuration file.
        flags: the texts of flags by their names.
        environ: the environment; an empty variable counts as not set.

    Returns:
        The sections that flags and variables set; and the file with what they say of its only account and database, and
        with all places and faults.
    """
    present = {name: text for name, text in environ.items() if text.strip()}
    variables = {name: text for name, text in present.items() if _is_ours(name)}
    known_flags = {flag.name: flag.path for flag in every_flag()}
    known_variables = {flag.variable: flag.path for flag in every_flag() if not flag.is_of_account} | ACCOUNT_VARIABLES
    faults = [*_unknown(flags, known_flags, "flag"), *_unknown(variables, known_variables, "variable")]
    above = _laid(_given(variables, known_variables), _given(flags, known_flags))
    below = _given(present, _LOWEST)
    data, places = dict(file.data or {}), dict(file.places)
    for kind, name in _NAMES.items():
        upper, lower = ({path: one for path, one in given.items() if path[0] == kind} for given in (above, below))
        listed = data.get(kind) or [{"name": name}]
        if not isinstance(listed, list) or not (upper or lower):
            continue
        if len(listed) > 1:
            problem = f"there are {len(listed)} {kind}; set it in the file for one of them"
            faults += (ConfigurationFault(*place, "", problem) for _, place in upper.values() if place is not None)
        elif isinstance(item := listed[0], Mapping):
            own: Given = {(kind, 0, key): (value, None) for key, value in item.items() if value is not None}
            has_token = "authToken=" in str(item.get("url"))
            merged = _laid(own if has_token else _laid(lower, own), upper)
            data[kind] = [{str(path[-1]): value for path, (value, _) in merged.items()}]
            places |= {path: place for path, (_, place) in merged.items() if place is not None}
    web, (listen, place) = data.get("web") or {}, below.get(("web", "listen"), (None, None))
    if place is not None and isinstance(web, Mapping) and web.get("listen") is None:
        data["web"] = {**web, "listen": listen}
        places["web", "listen"] = place
    sections = {path: one for path, one in above.items() if path[0] not in _NAMES}
    places |= {path: place for path, (_, place) in sections.items() if place is not None}
    content = None if file.data is None else data
    return _nested(sections), replace(file, data=content, places=places, faults=(*file.faults, *faults))


def _is_ours(variable: str) -> bool:
    """Return whether a variable is meant for the exporter."""
    is_ours = variable.startswith(PREFIX) and variable != CONFIG_VARIABLE
    return is_ours and not _SERVICE_LINK.fullmatch(variable)


def _unknown(texts: Mapping[str, str], paths: Mapping[str, KeyPath], kind: str) -> Iterator[ConfigurationFault]:
    """Yield a fault for each flag or variable that does not exist."""
    hint = "; only the configuration file sets lists" if kind == "variable" else ""
    for name in texts.keys() - paths.keys():
        # All variables have the prefix in common.
        near = suggestion(name, (*paths, CONFIG_VARIABLE), similarity=0.8)
        yield ConfigurationFault(name, None, "", f"unknown {kind}{near or hint}")


def _given(texts: Mapping[str, str], paths: Mapping[str, KeyPath]) -> Given:
    """Return the values that known flags or variables set."""
    known = ((name, text) for name, text in texts.items() if name in paths)
    return {paths[name]: (None if text.strip() in NULL else text, Place(name)) for name, text in known}


def _laid(lower: Given, upper: Given) -> Given:
    """Return the values of two sources."""
    replaced = {(*path[:-1], _PAIRS[str(path[-1])]) for path in upper if path[-1] in _PAIRS}
    return {path: given for path, given in lower.items() if path not in replaced} | upper


def _nested(given: Given) -> Data:
    """Return values by their sections."""
    data: Data = {}
    for path, (value, _) in given.items():
        *above, key = map(str, path)
        section = data
        for step in above:
            section = section.setdefault(step, {})  # type: ignore[assignment] # a section is no text
        section[key] = value
    return data
