"""The events of the log and all other texts for people, read from the source; `tests/listed/` holds them."""

import ast
import re
from collections.abc import Callable, Iterator

from tests.rooms import MODULES

_LEVELS = frozenset({"debug", "info", "warning", "error", "exception"})
# A text for people has two words at least.
_PROSE = re.compile(r"[A-Za-z*{}'\")][,:;.]? [A-Za-z*{}'\"(]")
# Every answer of the sandbox is recorded elsewhere.
SOURCES = [module for module in MODULES if module.unit != "sandbox"]


def text_of(node: ast.AST) -> str:
    """Return a text with `{}` for each value in it; empty for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def logs() -> Iterator[str]:
    """Yield the events of the log with their levels and keys."""
    for node in (node for module in SOURCES for node in module.nodes):
        match node:
            case (
                ast.Call(func=ast.Attribute(attr=level), args=[event, *_], keywords=facts)
                | ast.Call(func=ast.Name("report"), args=[ast.Attribute(attr=level), event], keywords=facts)
            ) if level in _LEVELS:
                keys = " ".join(sorted(fact.arg or ast.unparse(fact.value) for fact in facts))
                text = text_of(event)
                if text or keys:
                    # An event that a line before names is among the other texts.
                    yield f"{level} {repr(text) if text else '...'} {keys}".rstrip()


def messages() -> Iterator[str]:
    """Yield every other text: of errors, faults, pages and reports."""
    for module in SOURCES:
        yield from (repr(text) for text in _below(module.nodes[0]) if _PROSE.search(text))


def _below(node: ast.AST) -> Iterator[str]:
    """Yield the texts in a piece of source other than docstrings, events of the log and help texts."""
    if text := text_of(node):
        yield text
    parts = list(ast.iter_child_nodes(node))
    match node:
        case ast.Expr(value=ast.Constant()) | ast.keyword(arg="help" | "description"):
            parts = []
        case ast.JoinedStr(values=values):
            parts = [part for part in values if isinstance(part, ast.FormattedValue)]
        case ast.Call(func=ast.Attribute(attr=level), args=[said, *_]) if level in _LEVELS:
            parts.remove(said)
        case ast.Call(func=ast.Name(id="Metric" | "FamilyInfo"), args=[_, said, *_]):
            parts.remove(said)
    for part in parts:
        yield from _below(part)


LISTS: dict[str, Callable[[], Iterator[str]]] = {"logs": logs, "messages": messages}


def listed(name: str) -> str:
    """Return a list, sorted, each text once."""
    return "".join(f"{text}\n" for text in sorted(set(LISTS[name]())))
