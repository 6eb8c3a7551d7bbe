"""Finds the values that flags and variables set, each with its flag or variable."""

import re
from collections.abc import Callable, Iterable, Mapping

from exporter.settings.flag import (
    ACCOUNT_VARIABLES,
    CONFIG_VARIABLE,
    DATABASE_VARIABLES,
    FIRST_ACCOUNT,
    FIRST_DATABASE,
    PREFIX,
    Flag,
)
from exporter.validation.faults import Fault, KeyPath, suggestion, written

# Place of a value → its text, or None for null, and the flag or variable that sets it.
Given = dict[KeyPath, tuple[str | None, str]]

# Variables that Kubernetes sets in every container for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(
    PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)


class Reading:
    """Reads values, and collects the faults of their sources.

    Args:
        lists: the names that variables of lists would have, and the lists' places; only the file sets them.
        file: the content of the configuration file, over which the values are laid.
    """

    def __init__(self, known: Iterable[Flag], lists: Mapping[str, KeyPath], file: Mapping[str, object]) -> None:
        self.faults: list[Fault] = []
        self._flags = {flag.name: flag.path for flag in known}
        self._variables = {flag.variable: flag.path for flag in known if not flag.is_of_account} | ACCOUNT_VARIABLES
        self._nullable = {flag.path for flag in known if flag.nullable}
        self._lists = lists
        self._file = file

    def flags(self, texts: Mapping[str, str]) -> Given:
        """Return the values of the command line."""
        return self._given(texts, self._flags, lambda name: f"unknown flag{suggestion(name, self._flags)}")

    def variables(self, environ: Mapping[str, str]) -> Given:
        """Return the values of the environment; an empty variable counts as not set."""
        texts = {name: text for name, text in environ.items() if text.strip()}
        ours = {name: text for name, text in texts.items() if name.startswith(PREFIX) and name != CONFIG_VARIABLE}
        return self._given(ours, self._variables, self._unknown) | self._attached_database(texts)

    def _given(self, texts: Mapping[str, str], places: Mapping[str, KeyPath], unknown: Callable[[str], str]) -> Given:
        found: Given = {}
        for name, text in texts.items():
            path = places.get(name, ())
            listed = self._file.get(str(path[0])) if path[:2] in (FIRST_ACCOUNT, FIRST_DATABASE) else None
            problem = "" if path else unknown(name)
            if isinstance(listed, list) and len(listed) > 1:
                problem = f"there are {len(listed)} {path[0]}; set it in the file for one of them"
            if problem:
                self.faults.append(Fault(name, None, "", problem))
            elif path and (not listed or (isinstance(listed, list) and isinstance(listed[0], Mapping))):
                found[path] = (None if path in self._nullable and text.strip() == "null" else text, name)
        return found

    def _unknown(self, variable: str) -> str:
        """Return what is wrong with a variable that sets nothing; empty if it is not meant for the exporter."""
        if _SERVICE_LINK.fullmatch(variable):
            return ""
        if variable in self._lists:
            return f"{written(self._lists[variable])} is a list, which only the configuration file can set"
        return f"unknown variable{suggestion(variable, (*self._variables, CONFIG_VARIABLE))}"

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
        address = database.get("url")
        has_token = any(database.get(key) is not None for key in ("auth_token", "auth_token_file"))
        has = {url: address is not None, token: has_token or "authToken=" in str(address)}
        lacking = {name: environ[name] for name, is_there in has.items() if name in environ and not is_there}
        return self._given(lacking, DATABASE_VARIABLES, str)
