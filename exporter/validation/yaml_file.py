"""Reads a YAML file as plain data, with the line of each value.

A scalar is read as text or None; the model that validates the data converts the text, as for flags and variables. So a
version `1.10`, a key `0123` and a name `on` need no quotes. A relative path in a `*_file` key is joined to the folder
of the YAML file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import yaml

from exporter.untrusted.regular_file import UnreadableError, read_text
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault, KeyPath, Place, format_keys

# Mappings of mappings, lists, texts and None.
Data = dict[str, object]

NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TAG = "tag:yaml.org,2002:"
_TEXT, _NULL, _MERGE = f"{_TAG}str", f"{_TAG}null", f"{_TAG}merge"
_TAGS = frozenset({_TEXT, _NULL, _MERGE, f"{_TAG}seq", f"{_TAG}map"})
# Aliases of aliases can turn a few lines into billions of values.
_MOST_VALUES = 1_000_000
# The keys of these mappings name labels, scripts and users: a key may end in `_file`, but the value is no file.
_OF_NAMES = frozenset({"info", "labels", "monthly_budget_dollars", "basic_auth_users"})
# Text that the parser quotes from the file; the text could be a part of a secret.
_QUOTED = re.compile(r"\b(alias|anchor|handle|tag) ['\"].*")
# JSON may write a character as a pair of surrogates, such as \ud83d\ude00; YAML has no such pairs.
_SURROGATE = re.compile("[\ud800-\udfff]")
# The parser may find these faults many lines after the mistake, so the line where their context begins is reported.
_BEGIN_EARLIER = ("found unexpected end of stream", "expected ','", "could not find expected ':'")


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """The content of a YAML file, and the places of values.

    Attributes:
        source: the name of the file; empty without a file.
        places: path of a value → the line of the file, or the flag or variable that sets the value instead.
        settable: path of a value → the variable that can set the value.
    """

    source: str = ""
    data: Data = field(default_factory=dict)
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    settable: Mapping[KeyPath, Place] = field(default_factory=dict)

    def locate(self, path: KeyPath) -> Place:
        """Return the place of the value at the path, or else of the nearest mapping or list around the value.

        If none of these has a place, return the variable that can set the value; without such a variable, the file.
        """
        for end in range(len(path), 0, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return self.settable.get(path, Place(self.source))

    def fault(self, path: KeyPath, message: str) -> ConfigurationFault:
        """Return a fault of the value at the path."""
        return ConfigurationFault(message, format_keys(path), self.locate(path))


def read_marked(path: Path) -> MarkedFile:
    """Read a YAML file that contains one mapping, or nothing; raises ConfigurationError for any other file."""
    try:
        return parse_marked(read_text(path), str(path))
    except UnreadableError as error:
        raise ConfigurationError([ConfigurationFault(error.reason, place=Place(str(path)))]) from None


def parse_marked(text: str, source: str) -> MarkedFile:
    """Parse YAML text that contains one mapping, or nothing; raises ConfigurationError for any other text.

    `source` is the name of the text's file.
    """
    line: int | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None or root.tag == _NULL:
            return MarkedFile(source)
        if isinstance(root, yaml.MappingNode):
            places = dict(islice(_places(root, source), _MOST_VALUES + 1))
            if len(places) > _MOST_VALUES:
                raise _wrong(f"found more than {_MOST_VALUES} values", root)
            return MarkedFile(source, _plain_value(root, Path(source).parent), places)
        line = root.start_mark.line + 1
        message = f"found {'a list' if isinstance(root, yaml.SequenceNode) else 'text'}, expected a mapping"
    except yaml.MarkedYAMLError as error:
        problem = error.problem or ""
        mark = error.context_mark if problem.startswith(_BEGIN_EARLIER) else error.problem_mark
        line = mark.line + 1 if mark else None
        message = "cannot be read as YAML: " + _QUOTED.sub(r"\1", " ".join(filter(None, (error.context, problem))))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = "contains a character that YAML does not allow"
    except RecursionError:
        message = "is nested too deeply"
    except (ValueError, OverflowError):
        line = loader.line + 1
        message = "contains a number that is too large, such as \\U00110000 for a character"
    raise ConfigurationError([ConfigurationFault(message, place=Place(source, line))])


class _Loader(yaml.SafeLoader):
    """Composes nodes: scalars are text or null, and `<<` is replaced by the keys of the merged mappings."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's name and form
        first: [(tag, pattern) for tag, pattern in resolvers if tag in (_NULL, _MERGE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - PyYAML's
        node = super().compose_node(parent, index)
        if node is not None and node.tag not in _TAGS:
            raise _wrong("found an explicit type; expected a value without one", node)
        if isinstance(node, yaml.ScalarNode) and (found := _SURROGATE.search(node.value)):
            raise _wrong(f"found \\u{ord(found[0]):04x}, half of a surrogate pair; write the character itself", node)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 - PyYAML's
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong("found a key that is no text", key)
            # The key `<<` may be repeated, to merge several mappings.
            if key.value in lines and key.tag != _MERGE:
                raise _wrong(f"found duplicate key {key.value[:60]!r}, first on line {lines[key.value]}", key)
            lines[key.value] = key.start_mark.line + 1
        self.flatten_mapping(node)
        return node

    def parse_flow_mapping_empty_value(self) -> NoReturn:
        """Refuse a key without a colon, such as `{api_key:KEY}`: the fault of an unknown key would show the secret."""
        after = self.peek_token()  # type: ignore[no-untyped-call]
        raise _wrong("found a key without a value; expected a colon and a space after the key", after)


def _wrong(problem: str, found: yaml.Node | yaml.Token) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=found.start_mark)


def _plain_value(node: yaml.Node, folder: Path, key: str = "") -> Any:  # noqa: ANN401 - a dict, a list, text or None
    if isinstance(node, yaml.MappingNode):
        has_names = key in _OF_NAMES
        return {name.value: _plain_value(value, folder, "" if has_names else name.value) for name, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain_value(item, folder) for item in node.value]
    if node.tag == _NULL:
        return None
    text: str = node.value
    # A blank path is not joined to the folder, so that the path is refused as blank.
    is_path = key.endswith("_file") and bool(text.strip())
    return str(folder / text) if is_path else text


def _places(node: yaml.Node, source: str, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Place]]:
    inner: list[tuple[str | int, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        inner = [(key.value, key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        inner = [(number, item, item) for number, item in enumerate(node.value)]
    for step, marked, value in inner:
        yield (*path, step), Place(source, marked.start_mark.line + 1)
        yield from _places(value, source, (*path, step))
