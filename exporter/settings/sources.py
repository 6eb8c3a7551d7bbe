"""Reads the values of flags and variables, and lays them over those of the file."""

import re
from collections.abc import Iterable, Mapping

from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    CONTAINER_LISTEN,
    DATABASE_VARIABLES,
    PREFIX,
    Flag,
)
from exporter.validation.configuration_errors import Fault, KeyPath, Place, suggestion
from exporter.validation.yaml_file import NULL, Data

# Path of a value → the value, and the flag or variable that sets it; empty for the file.
Given = dict[KeyPath, tuple[object, str]]

# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
# The lists whose only item flags and variables complete, with its name if they alone describe it.
_NAMES = {"accounts": "main", "databases": "default"}
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "auth_token_file": "auth_token"}


class Overlay:
    """The values of flags and variables.

    Args:
        known: every flag.
        flags: the texts of flags by their names.
        environ: the environment; an empty variable counts as not set.

    Attributes:
        faults: why flags and variables set nothing.
        places: the flag or variable of each value that they set; complete after `over`.
    """

    def __init__(self, known: Iterable[Flag], flags: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.faults: list[Fault] = []
        variables = {flag.variable: flag.path for flag in known if not flag.is_of_account} | ACCOUNT_VARIABLES
        set_variables = {name: text for name, text in environ.items() if text.strip()}
        attached = {name: text for name, text in set_variables.items() if name in DATABASE_VARIABLES}
        hint = "; only the configuration file sets lists"
        command_line = self._read(flags, {flag.name: flag.path for flag in known}, "flag")
        environment = self._read(_ours(set_variables), variables, "variable", hint)
        self._attached = self._read(attached, DATABASE_VARIABLES, "variable")
        self._listen = set_variables.get(CONTAINER_LISTEN)
        self._above = _laid(environment, command_line)
        self.places = {path: Place(name) for path, (_, name) in self._above.items() if path[0] not in _NAMES}

    def _read(self, texts: Mapping[str, str], paths: Mapping[str, KeyPath], kind: str, hint: str = "") -> Given:
        for name in texts.keys() - paths.keys():
            # All variables have the prefix in common.
            near = suggestion(name, (*paths, CONFIG_VARIABLE), similarity=0.8)
            self.faults.append(Fault(name, None, "", f"unknown {kind}{near or hint}"))
        known = ((paths[name], name, text) for name, text in texts.items() if name in paths)
        return {path: (None if text.strip() in NULL else text, name) for path, name, text in known}

    def sections(self) -> Data:
        """Return the sections that flags and variables set, without accounts and databases."""
        sections: Data = {}
        for path, (value, _) in self._above.items():
            if path[0] not in _NAMES:
                *above, key = map(str, path)
                section = sections
                for step in above:
                    section = section.setdefault(step, {})  # type: ignore[assignment] # a section is no text
                section[key] = value
        return sections

    def over(self, file: Data) -> Data:
        """Return the file's content with the values of its only account and database, and what the image adds."""
        made = dict(file)
        for kind, name in _NAMES.items():
            listed = file.get(kind) or [{"name": name}]
            if isinstance(listed, list) and any(path[0] == kind for path in (*self._above, *self._attached)):
                made[kind] = self._completed(kind, listed)
        web = file.get("web") or {}
        if self._listen is not None and isinstance(web, Mapping) and web.get("listen") is None:
            self.places.setdefault(("web", "listen"), Place(CONTAINER_LISTEN))
            made["web"] = {**web, "listen": self._listen}
        return made

    def _completed(self, kind: str, listed: list[object]) -> list[object]:
        """Return a list of accounts or databases with what flags and variables say of its only item."""
        above = {path: given for path, given in self._above.items() if path[0] == kind}
        item = listed[0]
        if len(listed) > 1:
            problem = f"there are {len(listed)} {kind}; set it in the file for one of them"
            self.faults += (Fault(name, None, "", problem) for _, name in above.values())
        if len(listed) > 1 or not isinstance(item, Mapping):
            return listed
        file: Given = {(kind, 0, key): (value, "") for key, value in item.items() if value is not None}
        needs_attached = kind == "databases" and "authToken=" not in str(item.get("url"))
        merged = _laid(_laid(self._attached if needs_attached else {}, file), above)
        self.places |= {path: Place(name) for path, (_, name) in merged.items() if name}
        return [{str(path[-1]): value for path, (value, _) in merged.items()}]


def _ours(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are meant for the exporter."""
    ours = {name: text for name, text in variables.items() if name.startswith(PREFIX) and name != CONFIG_VARIABLE}
    return {name: text for name, text in ours.items() if not _SERVICE_LINK.fullmatch(name)}


def _laid(lower: Given, upper: Given) -> Given:
    """Return the values of two sources."""
    replaced = {(*path[:-1], _PAIRS[str(path[-1])]) for path in upper if path[-1] in _PAIRS}
    return {path: given for path, given in lower.items() if path not in replaced} | upper
