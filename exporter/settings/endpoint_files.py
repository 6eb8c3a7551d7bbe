"""Adds the endpoints of other files to those of the configuration; faults name the file and line they are in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.validation.faults import Fault, KeyPath, unknown_key
from exporter.validation.yaml_file import MarkedFile, read_marked

_LIST = "endpoints"
_FILES = "endpoint_files"


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
    """Read the files that a configuration names under `endpoint_files`, relative to its directory.

    Args:
        file: the configuration file, for the lines of its faults.
        data: the content of the configuration.
    """
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
