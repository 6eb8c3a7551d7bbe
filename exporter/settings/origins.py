"""Finds which file, flag or variable set a value of the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.settings.flag import ACCOUNT_VARIABLES, DATABASE_VARIABLES
from exporter.validation.faults import KeyPath
from exporter.validation.yaml_file import MarkedFile

_VARIABLES = {path: variable for variable, path in (ACCOUNT_VARIABLES | DATABASE_VARIABLES).items()}


@dataclass(frozen=True, slots=True)
class Origins:
    """Finds which source set a value, or which one could set a missing value.

    All are equal, so that settings from different sources are equal if they say the same.
    """

    _file: MarkedFile = field(compare=False)
    _above: Mapping[KeyPath, str] = field(compare=False)

    def origin(self, path: KeyPath) -> str:
        """Return what set a value: a flag, a variable, or a file with its line; `default` if nothing did."""
        if path in self._above:
            return self._above[path]
        return str(self._file.places[path]) if path in self._file.places else "default"

    def locate(self, path: KeyPath) -> tuple[str, int | None]:
        """Return the source and the line of a value, or of the section that should contain it."""
        if path in self._above:
            return self._above[path], None
        if len(path) > 1 and path[:2] not in self._file.places:
            # No source sets the value; name the variable that could set it.
            return _VARIABLES.get(path, self._file.source), None
        return self._file.locate(path)
