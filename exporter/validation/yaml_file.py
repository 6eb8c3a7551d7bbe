"""Reads a YAML file as plain data, whose values can be located in it.

Every scalar remains the written text, or None; the model that validates the data converts it. So `1.10` may be a
version, `0123` a key and `on` a name without quotes, and flags, variables and the file are read in the same way. The
values of `*_file` keys are names of files relative to the file that says them.
"""

import re
from collections.abc import Iterator, Mapping
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
# Mappings whose keys are names of labels, scripts and users: none of them says that the value is a file.
_OF_NAMES = frozenset({("info",), ("labels",), ("monthly_budget_dollars",), ("basic_auth_users",)})
# What the parser quotes from the file, which could be a part of a secret.
_QUOTED = re.compile(r"\b(alias|anchor|handle|tag) ['\"].*")
_SURROGATE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}")
# Where these faults are found is far from where they begin.
_BEGIN_EARLIER = ("found unexpected end of stream", "expected ','", "could not find expected ':'")


class _TextLoader(yaml.SafeLoader):
    """Leaves every scalar the written text, or None, and refuses explicit types."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's name and form
        first: [(tag, pattern) for tag, pattern in resolvers if tag in (_NULL, _MERGE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012 - as above
        tag: yaml.SafeLoader.yaml_constructors[tag] for tag in (_NULL, _TEXT, f"{_TAG}seq", f"{_TAG}map", None)
    }


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """The content of a YAML file. All files are equal, so that settings from different files are if they say the same.

    Attributes:
        source: The name of the file as the user gave it.
        data: What it says; None if the file does not contain a mapping.
        faults: What is wrong with the file as YAML.
        root: The mapping as PyYAML composed it, whose nodes know their lines.
        above: The places of values that flags and variables set in place of the file.
        settable: The variables for values that nothing sets, by their paths.
    """

    source: str = field(compare=False)
    data: Data | None = field(compare=False)
    faults: tuple[ConfigurationFault, ...] = field(default=(), compare=False)
    root: yaml.MappingNode | None = field(default=None, compare=False, repr=False)
    above: Mapping[KeyPath, Place] = field(default_factory=dict, compare=False)
    settable: Mapping[KeyPath, Place] = field(default_factory=dict, compare=False)

    def place(self, path: KeyPath) -> Place | None:
        """Return the place of the value at the path; None if nothing sets it."""
        marked: yaml.Node | None = None
        node: yaml.Node | None = self.root
        for step in path:
            marked, node = _inside(node, step)
        return self.above.get(path) or (None if marked is None else _place(marked))

    def locate(self, path: KeyPath) -> Place:
        """Return the place of the value at the path, or of the nearest mapping or list around it.

        If there is none, return the variable that could set the value, or the file.
        """
        around = (self.place(path[:end]) for end in range(len(path), 0, -1))
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
    if half := _SURROGATE.search(text):
        place = Place(source, text.count("\n", 0, half.start()) + 1)
        return _refused(place, f"contains {half[0]}, half of a character; write the character itself")
    try:
        loader = _TextLoader(text)
        loader.name = source
        root = loader.get_single_node()
        if root is None or root.tag == _NULL:
            return MarkedFile(source, {})
        if isinstance(root, yaml.MappingNode):
            faults = tuple(_prepare(root, Path(source).parent))
            return MarkedFile(source, loader.construct_document(root), faults, root)
        place = _place(root)
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


def _inside(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return the node that marks the line of an entry or an item, and that of its value; None if there is none."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    # What stands behind is in force: a mapping's own entries follow those that it merges.
    entries = reversed(node.value) if isinstance(node, yaml.MappingNode) else ()
    return next(((key, value) for key, value in entries if key.value == step), (None, None))


def _refused(place: Place, message: str) -> MarkedFile:
    return MarkedFile(place.source, None, (ConfigurationFault(*place, "", message),))


def _prepare(root: yaml.Node, folder: Path) -> Iterator[ConfigurationFault]:
    """Yield a fault for each key that a mapping has twice, and make the names of files relative to the folder."""
    nodes: list[tuple[KeyPath, yaml.Node]] = [((), root)]
    seen = set[int]()
    for path, node in nodes:  # which grows: what a node holds comes after it
        if id(node) in seen:
            continue  # through an alias
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += (((*path, place), item) for place, item in enumerate(node.value))
        lines: dict[str, int] = {}
        for place, (key, value) in enumerate(node.value if isinstance(node, yaml.MappingNode) else ()):
            if not isinstance(key, yaml.ScalarNode):
                continue  # which PyYAML refuses
            name = str(key.value)
            if name in lines and key.tag != _MERGE:
                message = f"duplicate key, first on line {lines[name]}"
                yield ConfigurationFault(*_place(key), written((*path, name)), message)
            lines.setdefault(name, key.start_mark.line + 1)
            nodes.append(((*path, name), value))
            if name.endswith("_file") and path[-1:] not in _OF_NAMES and value.tag == _TEXT and value.value.strip():
                relative = str(folder / value.value)
                node.value[place] = key, yaml.ScalarNode(_TEXT, relative, value.start_mark, value.end_mark)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.name, node.start_mark.line + 1)
