"""Finds the values that flags and variables set, each with its flag or variable, and lays them over the file's."""

import re
from collections.abc import Callable, Iterable, Mapping

from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    CONTAINER_LISTEN,
    DATABASE_VARIABLES,
    FIRST_ACCOUNT,
    FIRST_DATABASE,
    PREFIX,
    Flag,
)
from exporter.validation.faults import Fault, KeyPath, suggestion
from exporter.validation.yaml_file import Data

# Place of a value → its text, or None for null, and the flag or variable that sets it.
Given = dict[KeyPath, tuple[str | None, str]]

# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
# The only item of a list that flags and variables complete, and its name if they alone describe it.
_NAMES = {FIRST_ACCOUNT: "main", FIRST_DATABASE: "default"}
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "auth_token_file": "auth_token"}


class Reading:
    """Reads values, and collects the faults of their sources.

    Args:
        known: every flag.
        file: the content of the configuration file, over which the values are laid.
    """

    def __init__(self, known: Iterable[Flag], file: Mapping[str, object]) -> None:
        self.faults: list[Fault] = []
        self._flags = {flag.name: flag.path for flag in known}
        self._variables = {flag.variable: flag.path for flag in known if not flag.is_of_account} | ACCOUNT_VARIABLES
        self._nullable = {flag.path for flag in known if flag.nullable}
        self._file = file

    def flags(self, texts: Mapping[str, str]) -> Given:
        """Return the values of the command line."""
        return self._given(texts, self._flags, lambda name: f"unknown flag{suggestion(name, self._flags)}")

    def variables(self, environ: Mapping[str, str]) -> Given:
        """Return the values of the environment; an empty variable counts as not set."""
        texts = {name: text for name, text in environ.items() if text.strip()}
        ours = {
            name: text
            for name, text in texts.items()
            if name.startswith(PREFIX) and name != CONFIG_VARIABLE and not _SERVICE_LINK.fullmatch(name)
        }
        given = self._given(ours, self._variables, self._unknown) | self._attached_database(texts)
        return self._address_of_container(texts) | given

    def _unknown(self, variable: str) -> str:
        # All names have the prefix in common.
        near = suggestion(variable, (*self._variables, CONFIG_VARIABLE), similarity=0.8)
        return f"unknown variable{near or '; only the configuration file sets lists'}"

    def _given(self, texts: Mapping[str, str], places: Mapping[str, KeyPath], unknown: Callable[[str], str]) -> Given:
        found: Given = {}
        for name, text in texts.items():
            path = places.get(name, ())
            listed = self._file.get(str(path[0])) if path[:2] in _NAMES else None
            if not path:
                self.faults.append(Fault(name, None, "", unknown(name)))
            elif isinstance(listed, list) and len(listed) > 1:
                problem = f"there are {len(listed)} {path[0]}; set it in the file for one of them"
                self.faults.append(Fault(name, None, "", problem))
            else:
                found[path] = (None if path in self._nullable and text.strip() == "null" else text, name)
        return found

    def _address_of_container(self, environ: Mapping[str, str]) -> Given:
        """Return the address to listen on that an image gives, unless the file has another one."""
        web = self._file.get("web")
        is_set = CONTAINER_LISTEN not in environ or (isinstance(web, Mapping) and web.get("listen") is not None)
        return {} if is_set else {("web", "listen"): (environ[CONTAINER_LISTEN], CONTAINER_LISTEN)}

    def _attached_database(self, environ: Mapping[str, str]) -> Given:
        """Return what describes the database that the platform attached, or what the only configured one lacks."""
        url, token = DATABASE_VARIABLES
        listed = self._file.get("databases") or []
        if not isinstance(listed, list) or len(listed) > 1:
            return {}
        if token in environ and not listed and url not in environ:
            self.faults.append(Fault(token, None, "", f"there is no database for this token; set {url}"))
            return {}
        database = listed[0] if listed and isinstance(listed[0], Mapping) else {}
        has_token = any(database.get(key) is not None for key in ("auth_token", "auth_token_file"))
        has = {url: database.get("url") is not None, token: has_token or "authToken=" in str(database.get("url"))}
        lacking = {name: environ[name] for name, is_there in has.items() if name in environ and not is_there}
        return self._given(lacking, DATABASE_VARIABLES, str)


def as_sections(given: Given) -> Data:
    """Return the values in their sections; those of an account or a database are left out."""
    sections: Data = {}
    for path, (text, _) in given.items():
        if path[:2] not in _NAMES:
            *above, key = map(str, path)
            section = sections
            for step in above:
                section = section.setdefault(step, {})  # type: ignore[assignment] # a section is no text
            section[key] = text
    return sections


def with_first_items(file: Data, *layers: Given) -> Data:
    """Return the file's content with the values of its only account and database; the lowest layer comes first."""
    made = dict(file)
    for layer in layers:
        for (kind, place), name in _NAMES.items():
            above = {str(path[2]): text for path, (text, _) in layer.items() if path[:2] == (kind, place)}
            listed = made.get(str(kind)) or [{"name": name}]
            if above and isinstance(listed, list) and isinstance(listed[0], Mapping):
                below = {key: value for key, value in listed[0].items() if _PAIRS.get(key) not in above}
                made[str(kind)] = [below | above]
    return made
