"""Reads a YAML file as plain data, whose values can be located in it.

Every scalar remains the written text, or None; the model that validates the data converts it. So `1.10` may be a
version, `0123` a key and `on` a name without quotes, and flags, variables and the file are read in the same way. The
values of `*_file` keys are names of files relative to the file that says them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from exporter.untrusted.regular_file import read_text, unreadable
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, Place, written

# Mappings of mappings, lists, texts and None.
Data = dict[str, object]

NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TAG = "tag:yaml.org,2002:"
_TEXT, _NULL, _MERGE = f"{_TAG}str", f"{_TAG}null", f"{_TAG}merge"
_TAGS = frozenset({_TEXT, _NULL, f"{_TAG}seq", f"{_TAG}map"})
# Aliases of aliases make billions of values of a few lines.
_MOST_VALUES = 1_000_000
# Mappings whose keys are names of labels, scripts and users: none of them says that the value is a file.
_OF_NAMES = frozenset({("info",), ("labels",), ("monthly_budget_dollars",), ("basic_auth_users",)})
# What the parser quotes from the file, which could be a part of a secret.
_QUOTED = re.compile(r"\b(alias|anchor|handle|tag) ['\"].*")
_HALF = re.compile("[\ud800-\udfff]")
# Where these faults are found is far from where they begin.
_BEGIN_EARLIER = ("found unexpected end of stream", "expected ','", "could not find expected ':'")


class _TextLoader(yaml.SafeLoader):
    """Leaves every scalar the written text, or null, but for the key of a merge."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's name and form
        first: [(tag, pattern) for tag, pattern in resolvers if tag in (_NULL, _MERGE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """The content of a YAML file. All files are equal, so that settings from different files are if they say the same.

    Attributes:
        source: The name of the file as the user gave it.
        data: Its content; None if the file does not contain a mapping.
        faults: What is wrong with the file as YAML.
        places: Where each value was set; flags and variables that stand above the file are added to its lines.
        settable: The variables for values that nothing sets, by their paths.
    """

    source: str = field(compare=False)
    data: Data | None = field(compare=False)
    faults: tuple[ConfigurationFault, ...] = field(default=(), compare=False)
    places: Mapping[KeyPath, Place] = field(default_factory=dict, compare=False, repr=False)
    settable: Mapping[KeyPath, Place] = field(default_factory=dict, compare=False)

    def locate(self, path: KeyPath) -> Place:
        """Return the place of the value at the path, or of the nearest mapping or list around it.

        If there is none, return the variable that could set the value, or the file.
        """
        around = (self.places.get(path[:end]) for end in range(len(path), 0, -1))
        return next(filter(None, around), self.settable.get(path) or Place(self.source))

    def fault(self, path: KeyPath, message: str) -> ConfigurationFault:
        """Return what is wrong with the value at the path."""
        return ConfigurationFault(*self.locate(path), written(path), message)


def read_marked(path: Path) -> MarkedFile:
    """Read a YAML file that contains one mapping, or nothing; its faults are in the result."""
    try:
        return parse_marked(read_text(path), str(path))
    except OSError as error:
        return _refused(Place(str(path)), unreadable(error))


def parse_marked(text: str, source: str) -> MarkedFile:
    """Parse YAML text that contains one mapping, or nothing; its faults are in the result."""
    place = Place(source)
    try:
        loader = _TextLoader(text)
        root = loader.get_single_node()
        if root is None or root.tag == _NULL:
            return MarkedFile(source, {})
        if isinstance(root, yaml.MappingNode):
            values = _Values(loader, source)
            return MarkedFile(source, values.mapping(root, ()), tuple(values.faults), values.places)
        place = Place(source, root.start_mark.line + 1)
        message = f"found {'a list' if isinstance(root, yaml.SequenceNode) else 'text'}, expected a mapping"
    except yaml.MarkedYAMLError as error:
        problem = error.problem or ""
        mark = error.context_mark if problem.startswith(_BEGIN_EARLIER) else error.problem_mark
        words = _QUOTED.sub(r"\1", " ".join(filter(None, (error.context, problem))))
        place, message = Place(source, mark.line + 1 if mark else None), f"is not valid YAML: {words}"
    except yaml.reader.ReaderError as error:
        place = Place(source, text.count("\n", 0, error.position) + 1)
        message = "contains a control character, which YAML does not allow"
    except RecursionError:
        message = "is nested too deeply"
    except (ValueError, OverflowError):
        place, message = Place(source, loader.line + 1), "contains \\U and a number that is no character"
    return _refused(place, message)


def _refused(place: Place, message: str) -> MarkedFile:
    return MarkedFile(place.source, None, (ConfigurationFault(*place, "", message),))


class _Values:
    """Makes data of YAML nodes, and notes the place of each value, and each key that a mapping has twice."""

    def __init__(self, loader: _TextLoader, source: str) -> None:
        self.places: dict[KeyPath, Place] = {}
        self.faults: list[ConfigurationFault] = []
        self._loader, self._source = loader, source
        self._checked = set[int]()

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> Data:
        """Return the content of a mapping. Names of files in it are joined to the folder of this YAML file."""
        if id(node) not in self._checked:  # otherwise an alias
            self._checked.add(id(node))
            self._find_duplicates(node, path)
            self._loader.flatten_mapping(node)
        found: Data = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong("found a key that is no text", key)
            name = _text(key)
            found[name] = text = self._value(value, key, (*path, name))
            if name.endswith("_file") and path[-1:] not in _OF_NAMES and isinstance(text, str) and text.strip():
                found[name] = str(Path(self._source).parent / text)
        return found

    def _value(self, node: yaml.Node, marked: yaml.Node, path: KeyPath) -> object:
        self.places[path] = Place(self._source, marked.start_mark.line + 1)
        if len(self.places) > _MOST_VALUES:
            raise _wrong(f"found more than {_MOST_VALUES} values", node)
        if node.tag not in _TAGS:
            raise _wrong("found an explicit type, expected text", node)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, item, (*path, number)) for number, item in enumerate(node.value)]
        return None if node.tag == _NULL else _text(node)

    def _find_duplicates(self, node: yaml.MappingNode, path: KeyPath) -> None:
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if key.tag == _TEXT):
            line = key.start_mark.line + 1
            if key.value in lines:
                message = f"duplicate key, first on line {lines[key.value]}"
                self.faults.append(ConfigurationFault(self._source, line, written((*path, key.value)), message))
            lines.setdefault(key.value, line)


def _text(node: yaml.Node) -> str:
    text = str(node.value)
    if half := _HALF.search(text):
        raise _wrong(f"found {ascii(half[0])[1:-1]}, half of a character; write the character itself", node)
    return text


def _wrong(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
