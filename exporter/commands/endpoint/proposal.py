"""Proposes metrics for an answer of the platform: names and units are guesses, and are marked as such."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exporter.platform.http.mask import is_secret_name
from exporter.platform.operation import calendar_day

MOST_PROPOSALS = 60
DEEPEST = 4
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+(?:\d+[a-z]*)?|\d+")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CODE = re.compile(r"[A-Z]{2,3}", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_QUOTED_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?", re.ASCII)
# Names of fields that contain an object's name.
_TITLES = frozenset({"name", "title", "region", "country", "code"})
_IDS = re.compile(r"(?:^|[a-z_])(?:Id|ID|_id|Guid|GUID)$|^id$")
_DOLLARS = ("dollars", 1.0)
# A word in a field's name → the unit, and the factor that converts the value to it.
_UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("bytes", "bandwidth", "storage", "size", "traffic"), ("bytes", 1.0)),
    **dict.fromkeys(("ms", "milliseconds", "latency"), ("seconds", 0.001)),
    **dict.fromkeys(("seconds", "duration"), ("seconds", 1.0)),
    **dict.fromkeys(("cost", "charge", "charges", "price", "balance", "dollars"), _DOLLARS),
    **dict.fromkeys(("percent", "percentage", "rate"), ("ratio", 0.01)),
}
_DROPPED = frozenset(
    {"chart", "total", "monthly", "month", "ms", "milliseconds", "percent", "percentage", "count", "counts"}
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed metric; its source is `value`, `days`, `month` or `info`, and `guess` names what is guessed."""

    name: str
    source: str
    expression: str
    label: str = ""
    scale: float = 1.0
    guess: str = "name"

    def line(self) -> str:
        """Return the metric as a line of YAML."""
        words = f"{self.expression}, polled.".replace("\\", "").replace('"', "")
        keys = [f"name: {self.name}", f'help: "{words}"', f"{self.source}: {_quoted(self.expression)}"]
        if self.label:
            keys.append(f"label: {self.label}")
        if self.scale != 1.0:
            keys.append(f"scale: {self.scale:g}")
        return f"      - {{{', '.join(keys)}}}  # guessed: {self.guess}"


def propose(answer: object, name: str) -> Iterator[str]:
    """Return the lines of a file with one endpoint for a parsed answer; its name begins the metrics' names."""
    if lists := list(_lists(answer, ())):
        yield f"# Lists of objects, which could name targets under each: {', '.join(map(_path, lists))}"
    yield "endpoints:"
    yield f"  - name: {name}  # guessed"
    yield f"    path: /{name}  # the path that gave this answer"
    yield "    metrics:"
    found: dict[str, Proposal] = {}
    for proposal in _proposals(answer, (), name):
        found.setdefault(proposal.name, proposal)
        if len(found) >= MOST_PROPOSALS:
            break
    stem = f"edge_{name}_"
    for proposal in found.values():
        # In OpenMetrics a counter is exposed without its _total, too.
        is_taken = proposal.source == "value" and f"{proposal.name}_total" in found
        renamed = f"{stem}window_{proposal.name.removeprefix(stem)}" if is_taken else proposal.name
        yield replace(proposal, name=renamed).line()
    if not found:
        yield "      []  # the answer holds neither a number nor a chart of days"


def _proposals(value: object, path: tuple[str, ...], name: str) -> Iterator[Proposal]:
    key = path[-1] if path else ""
    if is_secret_name(key) and not isinstance(value, int | float):
        return
    unit, scale, words = _named(path)
    match value:
        case dict() if path and _is_chart(value):
            yield Proposal(_join(name, words, unit, "total"), "days", _path(path), scale=scale, guess="name and unit")
        case dict() if path and _is_counts(value):
            yield Proposal(_join(name, words, unit), "value", _path(path), "class", scale, "name, label and unit")
        case dict() if len(path) < DEEPEST:
            for inner, item in value.items():
                yield from _proposals(item, (*path, str(inner)), name)
        case bool():
            yield Proposal(_join(name, _words(path), ""), "value", _path(path))
        case int() | float() if not _IDS.search(key):
            yield _of_number(path, name, _path(path))
        case list() if value and isinstance(value[0], dict):
            yield from _of_rows(value[0], path, name)
        case str():
            yield from _of_text(value, path, name)


def _of_number(path: tuple[str, ...], name: str, expression: str) -> Proposal:
    unit, scale, words = _named(path)
    is_month = any(word in ("monthly", "month") for word in _words(path))
    source, suffix = ("month", "total") if is_month else ("value", "")
    return Proposal(_join(name, words, unit, suffix), source, expression, scale=scale, guess="name and unit")


def _of_text(text: str, path: tuple[str, ...], name: str) -> Iterator[Proposal]:
    if _QUOTED_NUMBER.fullmatch(text) and not _IDS.search(path[-1] if path else ""):
        yield _of_number(path, name, f"to_number({_path(path)})")
    elif _ISO.match(text):
        yield Proposal(_join(name, _words(path), "timestamp_seconds"), "value", _path(path))


def _of_rows(row: Mapping[str, object], path: tuple[str, ...], name: str) -> Iterator[Proposal]:
    """Propose metrics for a list of such objects: counters if they have a day, or one number for each name."""
    texts = {key: item for key, item in row.items() if isinstance(item, str) and not is_secret_name(key)}
    day = next((key for key, item in texts.items() if calendar_day(item) is not None), None)
    title = next((key for key in texts if key.lower() in _TITLES), None)
    heading = day or title
    if heading is None:
        return
    for key, item in row.items():
        if not isinstance(item, int | float) or _IDS.search(key) or (day and isinstance(item, bool)):
            continue
        unit, scale, words = _named((*path, key))
        expression = f"{_path(path)}[*].[{_path((heading,))}, {_path((key,))}]"
        if day:
            yield Proposal(_join(name, words, unit, "total"), "days", expression, scale=scale, guess="name and unit")
        else:
            label = "_".join(_words((heading,)))
            yield Proposal(_join(name, words, unit), "value", expression, label, scale, "name, label and unit")


def _is_chart(value: Mapping[Any, object]) -> bool:
    return bool(value) and all(calendar_day(str(key)) is not None for key in value) and _is_numbers(value)


def _is_counts(value: Mapping[Any, object]) -> bool:
    """Numbers by keys that are no fields, such as record types or countries."""
    are_fields = all(_PLAIN.fullmatch(str(key)) and not _CODE.fullmatch(str(key)) for key in value)
    return len(value) > 1 and _is_numbers(value) and not are_fields


def _is_numbers(value: Mapping[Any, object]) -> bool:
    return all(
        item is None or (isinstance(item, int | float) and not isinstance(item, bool)) for item in value.values()
    )


def _lists(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield path
    elif isinstance(value, dict) and len(path) < DEEPEST:
        for key, item in value.items():
            yield from _lists(item, (*path, str(key)))


def _words(path: tuple[str, ...]) -> list[str]:
    return [word.lower() for step in path for word in _WORD.findall(step)]


def _named(path: tuple[str, ...]) -> tuple[str, float, list[str]]:
    """Return the unit, the factor, and the words of the name without the unit."""
    words = _words(path)
    units = [_UNITS[word] for word in reversed(words) if word in _UNITS]
    unit, scale = units[0] if units else ("", 1.0)
    if unit == "bytes" and _DOLLARS in units:  # MonthlyChargesStorage is money
        unit, scale = _DOLLARS
    return unit, scale, [word for word in words if word not in _DROPPED and word != unit]


def _join(name: str, words: list[str], *suffixes: str) -> str:
    # Leave out a word that repeats the one before.
    parts = ["edge", *name.split("_"), *words, *(suffix for suffix in suffixes if suffix)]
    return "_".join(part for place, part in enumerate(parts) if place == 0 or part != parts[place - 1])


def _path(path: tuple[str, ...]) -> str:
    return ".".join(step if _PLAIN.fullmatch(step) else json.dumps(step) for step in path) or "@"


def _quoted(expression: str) -> str:
    return expression if re.fullmatch(r"[A-Za-z0-9_.]+", expression) else "'" + expression.replace("'", "''") + "'"
