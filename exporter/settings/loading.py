"""Loads the settings from flags, environment and file, in this precedence, or reports the faults of all three."""

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from exporter.settings.flag import ACCOUNT_VARIABLES, CONFIG_VARIABLE, DATABASE_VARIABLES
from exporter.settings.model import Settings
from exporter.settings.removed import REMOVED
from exporter.settings.service import ShardOrdinalError
from exporter.settings.sources import laid_over
from exporter.validation.configuration_errors import ConfigurationError, KeyPath, Place, suggestion
from exporter.validation.section import faults_of
from exporter.validation.yaml_file import MarkedFile, read_marked

_LIST = "endpoints"
_FILES = "endpoint_files"


def configuration_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the given configuration file, else the one that `EDGE_EXPORTER_CONFIG` names, else None."""
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return config or (Path(named) if named else None)


def load(
    config: Path | MarkedFile | None,
    flags: Mapping[str, str] | None,
    environ: Mapping[str, str],
    *,
    host_name: str | None = None,
) -> Settings:
    """Load the settings from flags, environment and file.

    Args:
        config: The configuration file, or its content; without one, the file that `EDGE_EXPORTER_CONFIG` names, if any.
        flags: The values of flags by their names, such as `--web.listen`.
        environ: The environment; an empty variable counts as not set.
        host_name: The machine's name, for `shard.index: auto`; by default the real one.

    Raises:
        ConfigurationError: Something is wrong; it holds every fault.
    """
    file = config if isinstance(config, MarkedFile) else MarkedFile("", {})
    if not isinstance(config, MarkedFile) and (path := configuration_file(config, environ)) is not None:
        file = read_marked(path, example="accounts:")
    above, file = laid_over(_with_endpoint_files(file), flags or {}, environ)
    faults = list(file.faults)
    settings = None
    if file.data is not None:
        try:
            settings = Settings(above, **file.data)
            settings.own_shard(host_name or socket.gethostname())
        except ValidationError as error:
            faults.extend(faults_of(error, lambda path: _settable(path, file), REMOVED))
        except ShardOrdinalError as error:
            faults.append(file.fault(("shard", "index"), str(error)))
    if faults or settings is None:
        raise ConfigurationError(faults)
    settings.come_from(file)
    return settings


def _settable(path: KeyPath, file: MarkedFile) -> Place:
    """Return the place of a value; the variable that could set it if the file lacks the account or database."""
    variable = next((name for name, place in (ACCOUNT_VARIABLES | DATABASE_VARIABLES).items() if place == path), None)
    is_set = path in file.places or path[:2] in file.places
    return file.locate(path) if variable is None or is_set else Place(variable)


def _with_endpoint_files(file: MarkedFile) -> MarkedFile:
    """Add the endpoints of the files that a configuration names under `endpoint_files`, relative to its directory."""
    data = file.data or {}
    names, own = data.get(_FILES), data.get(_LIST)
    if not isinstance(names, list) or not (own is None or isinstance(own, list)):
        return file
    listed: list[object] = list(own or ())
    faults, places = list(file.faults), dict(file.places)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            continue  # reported where the list is validated
        further = read_marked(Path(file.source).parent / name.strip(), example=f"{_LIST}:")
        faults += further.faults
        for key, found in (further.data or {}).items():
            if key != _LIST:
                faults.append(further.fault((key,), f"unknown key{suggestion(key, [_LIST])}"))
            elif not isinstance(found, list):
                faults.append(further.fault((key,), "expected a list of endpoints"))
            else:
                inside = ((path, place) for path, place in further.places.items() if path[0] == _LIST and path[1:])
                places |= {(_LIST, len(listed) + int(path[1]), *path[2:]): place for path, place in inside}
                listed += found
    return replace(file, data={**data, _LIST: listed}, faults=tuple(faults), places=places)
