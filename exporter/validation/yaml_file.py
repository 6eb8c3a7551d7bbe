"""Reads a YAML file as plain data, and keeps the line of each key.

Every scalar remains the written text, or None; the model that validates the data converts it. So `1.10` may be a
version, `0123` a key and `on` a name without quotes, and flags, variables and the file are read in the same way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from exporter.foreign.regular_file import read_regular, unreadable
from exporter.validation.faults import Fault, KeyPath, written

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE_KEY = "<<"
# Aliases may make as many values of a file as this, and as many as two for each of its characters.
_MOST_VALUES_OF_A_SMALL_FILE = 50_000
_FILE_SUFFIX = "_file"
# Mappings whose keys are names of labels, scripts and users: none of them says that the value is a file.
_OF_NAMES = frozenset({"info", "monthly_budget_dollars", "basic_auth_users"})
# The largest file, and the most values that are written in it; the parser takes some 2 s for so many.
_MOST_MIB = 4
_MOST_WRITTEN = 100_000
_UNDERSTOOD_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "null", "bool", "int", "float", "timestamp", "map", "seq", "merge", "value")
)

# The beginning of a message of the parser → the message for the user, which says what to do.
_WORDING = (
    ("found character '\\t'", "a tab in the indentation; use spaces"),
    ("found character", "{problem}; quote the value"),
    ("mapping values are not allowed here", "a ':' is not allowed here; quote the value, or look at the indentation"),
    ("could not find expected ':'", "this line is not 'key: value'"),
    ("expected <block end>", "the indentation does not fit the lines above"),
    ("sequence entries are not allowed here", "a '- ' is not allowed here; look at the indentation"),
    ("found unexpected end of stream", "a quoted text that starts here never ends"),
    ("found undefined alias", "a value starts with '*' (a YAML alias) and no anchor has that name; quote it"),
    ("found duplicate anchor", "the same YAML anchor is set twice"),
    ("found undefined tag handle", "a value starts with '!' (a YAML tag); quote it"),
    ("expected ',' or ']'", "a list that starts with '[' does not end; expected ',' or ']'"),
    ("expected ',' or '}'", "a mapping that starts with '{{' does not end; expected ',' or '}}'"),
    ("but found another document", "a second YAML document starts here; expected one"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """The content of a YAML file.

    Attributes:
        source: The name of the file as the user gave it.
        data: Mappings of mappings, lists, texts and None; None if the file does not contain a mapping.
        faults: What is wrong with the file as YAML.
        lines: The line of each value, by its path.
        sources: The files of values that other files have, by their paths, which have two steps.
    """

    source: str
    data: dict[str, object] | None
    faults: tuple[Fault, ...] = ()
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    sources: Mapping[KeyPath, str] = field(default_factory=dict)

    def locate(self, path: KeyPath) -> tuple[str, int | None]:
        """Return the file and the line of the value at the path, or of the nearest mapping or list around it."""
        line = next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)
        return self.sources.get(path[:2], self.source), line


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
        return _refused(source, f"is larger than {_MOST_MIB} MiB; put long lists of ids into an ids_file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _refused(source, "is not UTF-8 text", raw.count(b"\n", 0, error.start) + 1)
    return parse_marked(text, source, example=example, may_be_empty=may_be_empty)


def parse_marked(text: str, source: str, *, example: str, may_be_empty: bool = False) -> MarkedFile:
    """Parse YAML text that should contain one mapping; its faults are in the result."""
    line: int | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if isinstance(root, yaml.MappingNode):
            reader = _Reader(source, max(_MOST_VALUES_OF_A_SMALL_FILE, 2 * len(text)))
            data = reader.read(root, (), 1)
            assert isinstance(data, dict)  # noqa: S101 - what a mapping becomes
            return MarkedFile(source, data, tuple(reader.faults.values()), reader.lines)
        if root is None and may_be_empty:
            return MarkedFile(source, {})
        if root is None or (isinstance(root, yaml.ScalarNode) and root.value in _NULL):
            message = f"is empty; expected keys such as '{example}'"
        else:
            kind, line = "a list" if isinstance(root, yaml.SequenceNode) else "text", _line(root)
            message = f"found {kind}, expected keys such as '{example}'"
    except yaml.MarkedYAMLError as error:
        message, line = _syntax(error)
    except yaml.reader.ReaderError as error:
        message = "contains a control character, which YAML does not allow"
        line = text.count("\n", 0, error.position) + 1
    except _UnusableError as error:
        message, line = str(error), error.line
    except RecursionError:
        message = "is nested too deeply"
    except (ValueError, OverflowError):
        message, line = "contains \\U and a number that is no character", loader.line + 1
    return _refused(source, message, line)


def file_names_resolved(data: Mapping[str, object], directory: Path) -> dict[str, object]:
    """Return the data with every file name made relative to a directory; file names are values of `*_file` keys."""

    def resolved(value: object, key: str = "") -> object:
        match value:
            case dict() if key not in _OF_NAMES:
                return {key: resolved(inner, key) for key, inner in value.items()}
            case list():
                return [resolved(item) for item in value]
            case str() if key.endswith(_FILE_SUFFIX) and value.strip():
                return str(directory / value)
            case _:
                return value

    return {key: resolved(value, key) for key, value in data.items()}


def _refused(source: str, message: str, line: int | None = None) -> MarkedFile:
    return MarkedFile(source, None, (Fault(source, line, "", message),))


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, int | None]:
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    if problem.startswith(("found unexpected end of stream", "expected ','", "could not find expected ':'")):
        mark = error.context_mark or mark
    wording = next(
        (ours for theirs, ours in _WORDING if problem.startswith(theirs)), "is not valid YAML here: {problem}"
    )
    return wording.format(problem=problem), None if mark is None else mark.line + 1


class _UnusableError(Exception):
    """A value that makes the whole file unusable."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(yaml.BaseLoader):
    """Parses a file up to the most values that may be written in it."""

    _values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a value, with the values in it."""
        self._values += 1
        if self._values > _MOST_WRITTEN:
            message = f"has more than {_MOST_WRITTEN} values; put long lists of ids into an ids_file"
            raise _UnusableError(message, self.line + 1)
        return super().compose_node(parent, index)


class _Reader:
    """Converts nodes to data with lines and faults; up to `most` values, as aliases could make billions of a few."""

    def __init__(self, source: str, most: int) -> None:
        self.faults: dict[tuple[int, str], Fault] = {}
        self.lines: dict[KeyPath, int] = {}
        self._source = source
        self._most = self._left = most
        self._open: list[yaml.Node] = []

    def read(self, node: yaml.Node, path: KeyPath, line: int) -> object:
        """Return the data of a node: a mapping, a list, a text or None."""
        self.lines[path] = line
        if node in self._open:
            self._fault(node, path, "contains itself through a YAML alias")
            return None
        if path and node.tag not in _UNDERSTOOD_TAGS:
            self._fault(node, path, "starts with '!' (a YAML tag), which means nothing here; quote it")
        self._open.append(node)
        made: object = None
        if isinstance(node, yaml.MappingNode):
            made = self._mapping(node, path)
        elif isinstance(node, yaml.SequenceNode):
            self._allow(len(node.value), path)
            made = [self.read(item, (*path, place), _line(item)) for place, item in enumerate(node.value)]
        elif isinstance(node, yaml.ScalarNode) and not (node.style is None and node.value in _NULL):
            made = _text(node)
        self._open.pop()
        return made

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, path, "a key is a list or a mapping; expected text")
            elif key.value in lines and not _is_merge(key):
                self._fault(key, (*path, key.value), f"duplicate key, first on line {lines[key.value]}")
            else:
                lines[key.value] = _line(key)
        made: dict[str, object] = {}
        for key, value in self._entries(node, path):
            if isinstance(key, yaml.ScalarNode) and (name := _text(key)) not in made:
                made[name] = self.read(value, (*path, name), _line(key))
        return made

    def _entries(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        """Yield a mapping's own entries, then those of its merge keys."""
        self._allow(1 + len(node.value), path)
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if _is_merge(key):
                merged.extend(value.value if isinstance(value, yaml.SequenceNode) else [value])
            else:
                yield key, value
        for other in merged:
            if isinstance(other, yaml.MappingNode) and other is not node:
                yield from self._entries(other, path)

    def _allow(self, values: int, path: KeyPath) -> None:
        self._left -= values
        if self._left < 0:
            message = f"YAML aliases expand this to more than {self._most} values; write them out"
            # An alias stands below what it repeats, so that the last line on the way is that of the outermost alias.
            raise _UnusableError(message, max(self.lines[path[:end]] for end in range(len(path) + 1)))

    def _fault(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        # What an alias repeats is wrong once.
        self.faults.setdefault((id(node), message), Fault(self._source, _line(node), written(path), message))


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == _MERGE_KEY and key.style is None


def _text(node: yaml.ScalarNode) -> str:
    """Return a text with surrogate pairs joined that were written as two escapes, as in JSON."""
    text: str = node.value
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        half = next(char for char in text if "\ud800" <= char <= "\udfff")
        message = f"contains \\u{ord(half):04x}, which is a lone surrogate; write the whole character"
        raise _UnusableError(message, _line(node)) from None
