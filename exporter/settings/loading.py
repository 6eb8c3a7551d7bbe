"""Loads the settings from flags, environment and file, in this precedence, and reports faults."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.settings.flags import CONFIG_VARIABLE, DATABASE_VARIABLES, FALLBACK_VARIABLES, PREFIX, flags, variables
from exporter.settings.model import Settings
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, Place, suggestion
from exporter.validation.section import validated
from exporter.validation.yaml_file import NULL, Data, MarkedFile, read_marked

# Path of a value → the value, and the flag or variable that sets the value.
Given = dict[KeyPath, tuple[object, Place]]

# Variables that Kubernetes sets in containers for a Service called edge-exporter or edge-exporter-*.
_SERVICE_LINK = re.compile(PREFIX + r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_\w+)?)")
# Key → the key that must not be set beside it. If a flag or variable sets the left key, the right key is ignored in
# sources of lower precedence. `url` is never on the left: no flag or variable sets it.
_REPLACES = {"api_key": "api_key_file", "api_key_file": "api_key", "url_file": "url"}
# Path of a removed key without list indices → what to use in place of the key; docs/upgrading.md says more.
_REMOVED: Mapping[str, str] = {
    "accounts.proxy": "set HTTPS_PROXY or HTTP_PROXY, and NO_PROXY for hosts that are called directly",
    "accounts.ca_file": "set SSL_CERT_FILE, or SSL_CERT_DIR",
    "endpoint_files": "write the items of these files below the key 'endpoints'",
    "endpoints.metrics.complete": "delete the key: label values that appear after the first poll are counted in full",
    "series.max_per_family": "use series.max_label_values, which limits the label values of a metric for each target",
    "alertmanager_url": "Alertmanager's page silences an alert that fires; amtool silences a target in advance",
    "series.created": "counters have no _created samples; query how a counter has changed with rate() and increase()",
}


def configuration_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the given configuration file, else the one that `EDGE_EXPORTER_CONFIG` names, else None."""
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return config or (Path(named) if named else None)


def load(config: Path | None, flag_values: Mapping[str, str], environ: Mapping[str, str]) -> Settings:
    """Load the settings; raises ConfigurationError if the file cannot be read, or the settings are wrong.

    Without `config`, the file is the one that `EDGE_EXPORTER_CONFIG` names, if any. `flag_values` maps a flag, such as
    `--web.listen`, to the text of its value. A blank variable of the environment counts as not set.
    """
    config = configuration_file(config, environ)
    file = MarkedFile() if config is None else read_marked(config)
    present = {name: text for name, text in environ.items() if text.strip()}
    known = variables()
    fallbacks = {name: path for name, path in FALLBACK_VARIABLES.items() if _lacks_value(file.data, path)}
    by_variables = _given(present, fallbacks | known)
    by_flags = _given(flag_values, {flag.name: flag.path for flag in flags()})
    given = by_variables | by_flags  # flags have priority
    faults = [*_unknown_variables(present, known), *_ambiguous_settings(file.data.get("accounts"), given)]
    places = {**file.places, **{path: place for path, (_, place) in given.items()}}
    settable = {path: Place(name) for name, path in (known | DATABASE_VARIABLES).items()}
    file = replace(file, places=places, settable=settable)
    above = _sections(file.data, given)
    return validated(file, lambda: Settings(above, file, **file.data), faults, _REMOVED)


def _section_at(data: object, path: KeyPath) -> Mapping[str, object] | None:
    """Return the section at a path in `data`; empty if nothing is there, None if something else is there.

    The step 0 of a path means the only item of a list; for a list of several items, the result is None.
    """
    if data is None:
        return {}
    if not path:
        return data if isinstance(data, Mapping) else None
    step, rest = path[0], path[1:]
    if isinstance(step, str) and isinstance(data, Mapping):
        return _section_at(data.get(step), rest)
    if isinstance(step, int) and isinstance(data, list) and len(data) <= 1:
        return _section_at(data[0] if data else None, rest)
    return None


def _lacks_value(data: Data, path: KeyPath) -> bool:
    section, key = _section_at(data, path[:-1]), str(path[-1])
    return section is not None and section.get(key) is None and section.get(f"{key}_file") is None


def _given(texts: Mapping[str, str], paths: Mapping[str, KeyPath]) -> Given:
    """Return the values in `texts`, by path; of two names with the same path, the later in `paths` counts."""
    given: Given = {}
    for name, path in paths.items():
        if name in texts:
            text = None if texts[name].strip() in NULL else texts[name]
            given[path] = (text, Place(name))
    # Null hides the value that a lower source has for the replaced key.
    for path, (value, place) in list(given.items()):
        if value is not None and path[-1] in _REPLACES:
            given.setdefault((*path[:-1], _REPLACES[str(path[-1])]), (None, place))
    return given


def _unknown_variables(present: Mapping[str, str], known: Mapping[str, KeyPath]) -> Iterator[ConfigurationFault]:
    for name in present.keys() - known.keys() - {CONFIG_VARIABLE}:
        if name.startswith(PREFIX) and not _SERVICE_LINK.fullmatch(name):
            # A high similarity, because the common prefix makes all variables similar.
            near = suggestion(name, (*known, CONFIG_VARIABLE), similarity=0.8)
            hint = near or "; a setting without a variable is set in the configuration file"
            yield ConfigurationFault(f"unknown variable{hint}", place=Place(name))


def _ambiguous_settings(accounts: object, given: Given) -> Iterator[ConfigurationFault]:
    """Yield a fault for each value that flags or variables give an account, if the file has several accounts."""
    if not isinstance(accounts, list) or len(accounts) <= 1:
        return
    for path, (_, place) in given.items():
        if path[0] == "accounts":
            message = f"the file has {len(accounts)} accounts; set the value there, for one of them"
            yield ConfigurationFault(message, place=place)


def _sections(data: Data, given: Given) -> dict[Any, Any]:
    """Return the sections that flags and variables set.

    pydantic-settings takes a whole list from one source, so an account or a database that is set here also gets the
    values in the file. If the file has something else in place of a section, such as a text or a list of several
    accounts, the flags and variables of this section are left out. The fault is reported elsewhere.
    """
    sections: dict[Any, Any] = {}
    for path, (value, _) in given.items():
        if _section_at(data, path[:-1]) is not None:
            section = sections
            for step in path[:-1]:
                section = section.setdefault(step, {})
            section[path[-1]] = value
    # Replace `{0: item}` in `sections[kind]` by the list `[item]`.
    for kind in sections.keys() & {"accounts", "databases"}:
        in_file = _section_at(data, (kind, 0)) or {}
        sections[kind] = [{**in_file, **sections[kind][0]}]
    return sections
