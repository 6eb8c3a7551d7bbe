"""Reads a YAML file as plain data, and keeps the place of each value.

Every scalar remains the written text, or None; the model that validates the data converts it. So `1.10` may be a
version, `0123` a key and `on` a name without quotes, and flags, variables and the file are read in the same way. The
values of `*_file` keys are names of files relative to the file that says them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from exporter.foreign.regular_file import read_regular, unreadable
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, Place, written

# Mappings of mappings, lists, texts and None.
Data = dict[str, object]

NULL = frozenset({"", "~", "null", "Null", "NULL"})
_OWN_TAG = "tag:yaml.org,2002:"
# Mappings whose keys are names of labels, scripts and users: none of them says that the value is a file.
_OF_NAMES = frozenset({("info",), ("labels",), ("monthly_budget_dollars",), ("basic_auth_users",)})
_MOST_MIB = 4
# Aliases can make billions of values of a few.
_MOST_VALUES = 200_000
_IDS_FILE = "put long lists of ids into an ids_file"
_TOO_MANY = "too many values"

# The beginning of a message of the parser → the message for the user, which says what to do, and hides an alias or a
# tag that could be a part of a secret. Other messages of the parser are shown as they are.
_WORDING = {
    "found character '\\t'": "a tab in the indentation; use spaces",
    "mapping values are not allowed": "a ':' is not allowed here; quote the value, or look at the indentation",
    "could not find expected ':'": "this line is not 'key: value'",
    "expected <block end>": "the indentation does not fit the lines above",
    "found unexpected end of stream": "a quoted text that starts here never ends",
    "found undefined alias": "a value starts with '*' (a YAML alias) and no anchor has that name; quote it",
    "found undefined tag handle": "a value starts with '!' (a YAML tag); quote it",
    _TOO_MANY: f"has more than {_MOST_VALUES} values, with those of each use of a YAML alias; {_IDS_FILE}",
}


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """The content of a YAML file. All files are equal, so that settings from different files are if they say the same.

    Attributes:
        source: The name of the file as the user gave it.
        data: What it says; None if the file does not contain a mapping.
        faults: What is wrong with the file as YAML.
        places: The place of each value, by its path.
    """

    source: str = field(compare=False)
    data: Data | None = field(compare=False)
    faults: tuple[ConfigurationFault, ...] = field(default=(), compare=False)
    places: Mapping[KeyPath, Place] = field(default_factory=dict, compare=False)

    def locate(self, path: KeyPath) -> Place:
        """Return the place of the value at the path, or of the nearest mapping or list around it."""
        around = (path[:end] for end in range(len(path), 0, -1))
        return next((self.places[one] for one in around if one in self.places), Place(self.source))

    def fault(self, path: KeyPath, message: str) -> ConfigurationFault:
        """Return what is wrong with the value at the path."""
        return ConfigurationFault(*self.locate(path), written(path), message)


def read_marked(path: Path, *, example: str, may_be_empty: bool = False) -> MarkedFile:
    """Read a YAML file that should contain one mapping; its faults are in the result.

    A message names the `example` of a key. An empty file is an empty mapping if it may be, and else a fault.
    """
    source = str(path)
    try:
        raw = read_regular(path, (_MOST_MIB << 20) + 1)
    except OSError as error:
        return _refused(source, unreadable(error))
    if len(raw) > _MOST_MIB << 20:
        return _refused(source, f"is larger than {_MOST_MIB} MiB; {_IDS_FILE}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _refused(source, "is not UTF-8 text", raw.count(b"\n", 0, error.start) + 1)
    return parse_marked(text, source, example=example, may_be_empty=may_be_empty)


def parse_marked(text: str, source: str, *, example: str, may_be_empty: bool = False) -> MarkedFile:
    """Parse YAML text that should contain one mapping; its faults are in the result."""
    line: int | None = None
    try:
        loader = yaml.BaseLoader(text)
        root = loader.get_single_node()
        if isinstance(root, yaml.MappingNode):
            reader = _Reader(source)
            data: Data = {}
            reader.add(root, (), data)
            return MarkedFile(source, data, tuple(reader.faults), reader.places)
        if root is None and may_be_empty:
            return MarkedFile(source, {})
        if root is None or (isinstance(root, yaml.ScalarNode) and root.value in NULL):
            message = f"is empty; expected keys such as '{example}'"
        else:
            kind, line = "a list" if isinstance(root, yaml.SequenceNode) else "text", _line(root)
            message = f"found {kind}, expected keys such as '{example}'"
    except yaml.MarkedYAMLError as error:
        message, line = _syntax(error)
    except yaml.reader.ReaderError as error:
        message = "contains a control character, which YAML does not allow"
        line = text.count("\n", 0, error.position) + 1
    except RecursionError:
        message = "is nested too deeply, or contains itself through a YAML alias"
    except (ValueError, OverflowError):
        message, line = "contains \\U and a number that is no character", loader.line + 1
    return _refused(source, message, line)


def _refused(source: str, message: str, line: int | None = None) -> MarkedFile:
    return MarkedFile(source, None, (ConfigurationFault(source, line, "", message),))


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, int | None]:
    problem = error.problem or ""
    begins = ("found unexpected end of stream", "expected ','", "could not find expected ':'")
    mark = error.context_mark if problem.startswith(begins) else error.problem_mark
    parsers = f"is not valid YAML: {' '.join(filter(None, (error.context, problem)))}"
    message = next((ours for theirs, ours in _WORDING.items() if problem.startswith(theirs)), parsers)
    return message, None if mark is None else mark.line + 1


class _Reader:
    """Converts nodes to data, with places and faults."""

    def __init__(self, source: str) -> None:
        self.faults: list[ConfigurationFault] = []
        self.places: dict[KeyPath, Place] = {}
        self._source = source
        self._folder = Path(source).parent
        self._left = _MOST_VALUES

    def add(self, node: yaml.MappingNode, path: KeyPath, made: Data) -> None:
        """Add the entries of a mapping that `made` lacks, then those of its merge keys."""
        self._count(path)
        lines: dict[str, int] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, path, "a key is a list or a mapping; expected text")
            elif key.value == "<<" and key.style is None:
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
            elif key.value in lines:
                self._fault(key, (*path, key.value), f"duplicate key, first on line {lines[key.value]}")
            else:
                lines[key.value] = _line(key)
                if (name := _text(key)) not in made:
                    made[name] = self._read(value, (*path, name), _line(key))
        for other in merged:
            if isinstance(other, yaml.MappingNode):
                self.add(other, path, made)

    def _read(self, node: yaml.Node, path: KeyPath, line: int) -> object:
        """Return the data of a node: a mapping, a list, a text or None."""
        self._count(path)
        self.places[path] = Place(self._source, line)
        if not node.tag.startswith(_OWN_TAG):
            self._fault(node, path, "starts with '!' (a YAML tag), which means nothing here; quote it")
        if isinstance(node, yaml.ScalarNode):
            if node.style is None and node.value in NULL:
                return None
            text = _text(node)
            return str(self._folder / text) if _is_file_name(path) and text.strip() else text
        if isinstance(node, yaml.SequenceNode):
            return [self._read(item, (*path, place), _line(item)) for place, item in enumerate(node.value)]
        made: Data = {}
        if isinstance(node, yaml.MappingNode):
            self.add(node, path, made)
        return made

    def _count(self, path: KeyPath) -> None:
        self._left -= 1
        if self._left < 0:
            begin = yaml.Mark(self._source, 0, (self.places[path[:1]].line or 1) - 1, 0, None, 0)
            raise yaml.MarkedYAMLError(problem=_TOO_MANY, problem_mark=begin)

    def _fault(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self.faults.append(ConfigurationFault(self._source, _line(node), written(path), message))


def _is_file_name(path: KeyPath) -> bool:
    return str(path[-1]).endswith("_file") and path[-2:-1] not in _OF_NAMES


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _text(node: yaml.ScalarNode) -> str:
    """Return a text with surrogate pairs joined that were written as two escapes, as in JSON."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        problem = "\\u and a lone surrogate, which is no character"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None
