"""Reads a YAML file as plain data, and keeps the line of each key.

Every scalar remains the written text, or None; the model that validates the data converts it. So `1.10` may be a
version, `0123` a key and `on` a name without quotes, and flags, variables and the file are read in the same way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from exporter.regular_file import read_regular, unreadable
from exporter.settings.faults import Fault, KeyPath, written

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_STRING_TAG = "tag:yaml.org,2002:str"
_MERGE_KEY = "<<"
# Aliases may make the data this many times as large as the file; small results are always accepted.
_ALIAS_GROWTH = 10
_SMALL_FILE_NODES = 50_000
_FILE_SUFFIX = "_file"
# The largest file; the parser takes some 10 s for it.
_MOST_MIB = 4
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
        root: The parsed nodes, which have the lines; None if there is nothing.
    """

    source: str
    data: dict[str, object] | None
    faults: tuple[Fault, ...] = ()
    root: yaml.Node | None = None

    def holds(self, path: KeyPath) -> bool:
        """Return whether the file has a value at this path."""
        return self._reach(path)[0] == len(path)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of the value at the path, or of the nearest mapping or list around it."""
        return self._reach(path)[1]

    def _reach(self, path: KeyPath) -> tuple[int, int | None]:
        node, line = self.root, None
        for depth, step in enumerate(path):
            found = None if node is None else _child(node, step)
            if found is None:
                return depth, line
            node, line = found
        return len(path), line


def read_marked(path: Path, *, example: str, may_be_empty: bool = False) -> MarkedFile:
    """Read a YAML file that should contain one mapping; its faults are in the result.

    Args:
        path: The file.
        example: A possible key of the file, for a message.
        may_be_empty: Whether an empty file counts as an empty mapping.
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
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if isinstance(root, yaml.MappingNode):
            _Inspection().inspect(root)
            reader = _Reader(source)
            return MarkedFile(source, reader.read(root), tuple(reader.faults), root)
    except (yaml.YAMLError, _UnusableError, RecursionError) as error:
        return _refused(source, *_unusable(error, text))
    if root is None and may_be_empty:
        return MarkedFile(source, {})
    return _refused(source, *_no_mapping(root, example))


def file_names_resolved(data: Mapping[str, object], directory: Path) -> dict[str, object]:
    """Return the data with every file name made relative to a directory; file names are values of `*_file` keys."""
    return {key: _file_name_resolved(key, value, directory) for key, value in data.items()}


def _file_name_resolved(key: str, value: object, directory: Path) -> object:
    if key.endswith(_FILE_SUFFIX) and isinstance(value, str) and value.strip():
        return str(directory / value)
    if isinstance(value, dict):
        return file_names_resolved(value, directory)
    if isinstance(value, list):
        return [_file_name_resolved("", item, directory) for item in value]
    return value


def _refused(source: str, message: str, line: int | None = None) -> MarkedFile:
    return MarkedFile(source, None, (Fault(source, line, "", message),))


def _no_mapping(root: yaml.Node | None, example: str) -> tuple[str, int | None]:
    if root is None or (isinstance(root, yaml.ScalarNode) and root.value in _NULL):
        return f"is empty; expected keys such as '{example}'", None
    kind = "a list" if isinstance(root, yaml.SequenceNode) else "text"
    return f"found {kind}, expected keys such as '{example}'", root.start_mark.line + 1


def _unusable(error: Exception, text: str) -> tuple[str, int | None]:
    """Return the message and the line for an error that makes the whole file unusable."""
    match error:
        case yaml.MarkedYAMLError():
            return _syntax(error)
        case yaml.reader.ReaderError():
            line = text.count("\n", 0, error.position) + 1
            return "contains a control character, which YAML does not allow", line
        case _UnusableError():
            return str(error), error.line
        case _:
            return "is nested too deeply", None


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, int | None]:
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    if problem.startswith(("found unexpected end of stream", "expected ','", "could not find expected ':'")):
        mark = error.context_mark or mark
    wording = next(
        (ours for theirs, ours in _WORDING if problem.startswith(theirs)), "is not valid YAML here: {problem}"
    )
    return wording.format(problem=problem), None if mark is None else mark.line + 1


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, int] | None:
    """Return the node under one step, and the line of its key."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        if step < len(node.value):
            item = node.value[step]
            return item, item.start_mark.line + 1
    elif isinstance(node, yaml.MappingNode):
        for key, value in _entries(node):
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return value, key.start_mark.line + 1
    return None


def _entries(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Yield a mapping's own entries, then those of its merge keys."""
    merged: list[yaml.Node] = []
    for key, value in node.value:
        if _is_merge(key):
            merged.extend(value.value if isinstance(value, yaml.SequenceNode) else [value])
        else:
            yield key, value
    for other in merged:
        if isinstance(other, yaml.MappingNode) and other is not node:
            yield from _entries(other)


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == _MERGE_KEY and key.tag != _STRING_TAG


class _UnusableError(Exception):
    """A node that makes the whole file unusable."""

    def __init__(self, message: str, node: yaml.Node) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1


class _Inspection:
    """Checks every node once before aliases are resolved, so that it takes time in proportion to the file."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def inspect(self, root: yaml.Node) -> None:
        """Join surrogate pairs that were written as two escapes, as JSON does, and limit the size by aliases.

        Raises:
            _UnusableError: A text contains a lone surrogate, or the aliases make the data far larger than the file.
        """
        self._measure(root)
        largest = max(_SMALL_FILE_NODES, _ALIAS_GROWTH * len(self._sizes))
        if self._sizes[id(root)] > largest:
            message = f"YAML aliases expand this to more than {largest} values; write them out"
            raise _UnusableError(message, self._innermost_above(root, largest))

    def _measure(self, node: yaml.Node) -> int:
        """Return how many nodes a node becomes when its aliases are resolved."""
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        self._sizes[id(node)] = 1  # The value until the size is known: a node that contains itself is refused later.
        if isinstance(node, yaml.ScalarNode):
            node.value = _joined(node)
        size = 1 + sum(map(self._measure, _inner(node)))
        self._sizes[id(node)] = size
        return size

    def _innermost_above(self, node: yaml.Node, largest: int) -> yaml.Node:
        """Find the smallest node that is too large. Each step goes to a smaller node, so that cycles end the search."""
        while True:
            inner = max(_inner(node), key=self._size, default=node)
            if not largest < self._size(inner) < self._size(node):
                return node
            node = inner

    def _size(self, node: yaml.Node) -> int:
        return self._sizes[id(node)]


def _inner(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _joined(node: yaml.ScalarNode) -> str:
    text: str = node.value
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        half = next(char for char in text if "\ud800" <= char <= "\udfff")
        message = f"contains \\u{ord(half):04x}, which is a lone surrogate; write the whole character"
        raise _UnusableError(message, node) from None


class _Reader:
    """Converts nodes to data and collects faults."""

    def __init__(self, source: str) -> None:
        self.faults: list[Fault] = []
        self._source = source
        self._made: dict[int, object] = {}
        self._open: set[int] = set()

    def read(self, root: yaml.MappingNode) -> dict[str, object]:
        """Return the data of the whole file."""
        self._open.add(id(root))
        return self._mapping(root, ())

    def _value(self, node: yaml.Node, path: KeyPath) -> object:
        if id(node) in self._made:  # a node that was read before, through an alias
            return self._made[id(node)]
        if id(node) in self._open:
            self._fault(node, path, "contains itself through a YAML alias")
            return None
        self._open.add(id(node))
        if node.tag not in _UNDERSTOOD_TAGS:
            self._fault(node, path, "starts with '!' (a YAML tag), which means nothing here; quote it")
        made: object = None
        if isinstance(node, yaml.MappingNode):
            made = self._mapping(node, path)
        elif isinstance(node, yaml.SequenceNode):
            made = [self._value(item, (*path, place)) for place, item in enumerate(node.value)]
        elif isinstance(node, yaml.ScalarNode) and not (node.style is None and node.value in _NULL):
            made = node.value
        self._open.discard(id(node))
        self._made[id(node)] = made
        return made

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        own: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, path, "a key is a list or a mapping; expected text")
            elif key.value in own and not _is_merge(key):
                message = f"duplicate key, first on line {own[key.value]}"
                self._fault(key, (*path, key.value), message)
            else:
                own[key.value] = key.start_mark.line + 1
        made: dict[str, object] = {}
        for key, value in _entries(node):
            if isinstance(key, yaml.ScalarNode) and key.value not in made:
                made[key.value] = self._value(value, (*path, key.value))
        return made

    def _fault(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self.faults.append(Fault(self._source, node.start_mark.line + 1, written(path), message))
