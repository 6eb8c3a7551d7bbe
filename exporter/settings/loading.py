"""Loads the settings from flags, environment and file, in this precedence, or reports the faults of all three."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from exporter.settings.flag import ACCOUNT_VARIABLES, CONFIG_VARIABLE, DATABASE_VARIABLES
from exporter.settings.flags import flags as every_flag
from exporter.settings.flags import list_variables
from exporter.settings.model import Settings
from exporter.settings.service import SECTIONS, ShardOrdinalError
from exporter.settings.sources import Reading
from exporter.validation.faults import ConfigurationError, Fault, KeyPath, unknown_key
from exporter.validation.messages import faults_of
from exporter.validation.yaml_file import MarkedFile, file_names_resolved, read_marked

_VARIABLES = {path: variable for variable, path in (ACCOUNT_VARIABLES | DATABASE_VARIABLES).items()}
_LIST = "endpoints"
_FILES = "endpoint_files"


def configuration_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the given configuration file, else the one that `EDGE_EXPORTER_CONFIG` names, else None."""
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return config or (Path(named) if named else None)


def read_file(config: Path | None, environ: Mapping[str, str]) -> MarkedFile:
    """Read the configuration file with its lines and faults; an empty one if there is no file."""
    path = configuration_file(config, environ)
    return read_marked(path, example="accounts:") if path is not None else MarkedFile("", {})


def load(
    config: Path | None, flags: Mapping[str, str] | None, environ: Mapping[str, str], *, host_name: str | None = None
) -> Settings:
    """Load the settings from flags, environment and file.

    Args:
        config: The configuration file; without one, the file that `EDGE_EXPORTER_CONFIG` names, if any.
        flags: The values of flags by their names, such as `--web.listen`.
        environ: The environment; an empty variable counts as not set.
        host_name: The machine's name, for `shard.index: auto`; by default the real one.

    Raises:
        ConfigurationError: Something is wrong; it holds every fault.
    """
    return load_with_origins(read_file(config, environ), flags, environ, host_name=host_name)[0]


def load_with_origins(
    file: MarkedFile, flags: Mapping[str, str] | None, environ: Mapping[str, str], *, host_name: str | None = None
) -> "tuple[Settings, Origins]":
    """Load the settings with a file that was read already, and the origins of values; raises ConfigurationError."""
    resolved = file_names_resolved(file.data or {}, Path(file.source).parent)
    endpoints = with_endpoint_files(file, resolved)
    resolved = endpoints.data
    reading = Reading(every_flag(), list_variables(), resolved)
    environment, command_line = reading.variables(environ), reading.flags(flags or {})
    faults = [*file.faults, *endpoints.faults, *reading.faults]
    origins = Origins(file, {path: name for path, (_, name) in (environment | command_line).items()}, endpoints)
    settings = None
    if file.data is not None:
        try:
            above = [{path: text for path, (text, _) in given.items()} for given in (command_line, environment)]
            settings = Settings(above, **resolved)
            settings.shard.shard(host_name or socket.gethostname())
        except ValidationError as error:
            faults.extend(faults_of(error, Settings, origins.locate))
        except ShardOrdinalError as error:
            faults.append(Fault(*origins.locate(("shard", "index")), "shard.index", str(error)))
    if faults or settings is None:
        # Files with their lines first, then flags and variables.
        ordered = sorted(dict.fromkeys(faults), key=lambda fault: (fault.line is None, fault.source, fault.line or 0))
        raise ConfigurationError(ordered)
    return settings, origins


def load_with_endpoints(
    files: Sequence[Path], config: Path | None, flags: Mapping[str, str] | None, environ: Mapping[str, str]
) -> Settings:
    """Load the settings with the endpoints of these files, not the configured ones; raises ConfigurationError."""
    marked = read_file(config, environ)
    kept = {key: value for key, value in (marked.data or {}).items() if key != "endpoints"}
    sections = kept.get("collectors")
    if isinstance(sections, Mapping):
        # The sections of configured endpoints would be reported as unknown keys.
        kept["collectors"] = {name: section for name, section in sections.items() if name in SECTIONS}
    kept["endpoint_files"] = [str(file.absolute()) for file in files]
    data = None if marked.data is None else kept
    return load_with_origins(MarkedFile(marked.source, data, marked.faults, marked.lines), flags, environ)[0]


@dataclass(frozen=True, slots=True)
class EndpointFiles:
    """A configuration with the endpoints of the files that it names.

    Attributes:
        data: the configuration, with all endpoints in one list.
        faults: what is wrong with the files themselves.
        places: place in that list → the file, and the place in that file; only for endpoints of other files.
    """

    data: dict[str, object]
    faults: tuple[Fault, ...] = ()
    places: Mapping[int, tuple[MarkedFile, int]] = field(default_factory=dict)

    def locate(self, path: KeyPath) -> tuple[str, int | None] | None:
        """Return the file and line of the value at a path; None if it is in the configuration file itself."""
        if len(path) < 2 or path[0] != _LIST or path[1] not in self.places:  # noqa: PLR2004 - the list and a place
            return None
        file, place = self.places[int(path[1])]
        return file.source, file.line((_LIST, place, *path[2:]))


def with_endpoint_files(file: MarkedFile, data: Mapping[str, object]) -> EndpointFiles:
    """Read the files that a configuration names under `endpoint_files`, relative to the directory of its file."""
    names = data.get(_FILES)
    own = data.get(_LIST)
    if not isinstance(names, list) or not (own is None or isinstance(own, list)):
        return EndpointFiles(dict(data))
    listed: list[object] = list(own or ())
    faults: list[Fault] = []
    places: dict[int, tuple[MarkedFile, int]] = {}
    for name in names:
        if not isinstance(name, str) or not name.strip():
            continue  # reported where the list is validated
        further = read_endpoint_file(Path(file.source).parent / name.strip())
        faults.extend(further.faults)
        found = (further.data or {}).get(_LIST)
        if further.data is not None and not isinstance(found, list):
            line = further.line((_LIST,))
            faults.append(Fault(further.source, line, _LIST, "expected a list of endpoints"))
        for place, endpoint in enumerate(found if isinstance(found, list) else ()):
            places[len(listed)] = (further, place)
            listed.append(endpoint)
    return EndpointFiles({**data, _LIST: listed}, tuple(faults), places)


def read_endpoint_file(path: Path) -> MarkedFile:
    """Read a file of endpoints; faults of the file itself are in the result."""
    file = read_marked(path, example=f"{_LIST}:")
    strange = [key for key in file.data or {} if key != _LIST]
    faults = [Fault(file.source, file.line((key,)), key, unknown_key(key, [_LIST])) for key in strange]
    return MarkedFile(file.source, file.data, (*file.faults, *faults), file.lines)


@dataclass(frozen=True, slots=True)
class Origins:
    """Finds which source set a value, or which one could set a missing value."""

    _file: MarkedFile
    _above: Mapping[KeyPath, str]
    _endpoints: EndpointFiles

    def origin(self, path: KeyPath) -> str:
        """Return what set a value: a flag, a variable, or a file with its line; `default` if nothing did."""
        if path in self._above:
            return self._above[path]
        return f"{self._file.source}:{self._file.line(path)}" if self._file.holds(path) else "default"

    def locate(self, path: KeyPath) -> tuple[str, int | None]:
        """Return the source and the line of a value, or of the section that should contain it."""
        if path in self._above:
            return self._above[path], None
        included = self._endpoints.locate(path)
        if included is not None:
            return included
        if len(path) > 1 and not self._file.holds(path[:2]):
            # No source sets the value; name the variable that could set it.
            return _VARIABLES.get(path, self._file.source), None
        return self._file.source, self._file.line(path)
