"""The texts of the package, sorted: compare them before and after a rewrite of its inside.

`python -m tests.texts` prints all of them, `python -m tests.texts logs messages docstrings` those that are named.
`docs/commands.md` and `docs/metrics.md` hold the help texts of commands and metrics.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator

from tests.rooms import MODULES, Module

_LEVELS = frozenset({"debug", "info", "warning", "error", "exception"})
# A text for people has two words at least.
_PROSE = re.compile(r"[A-Za-z*{}'\")][,:;.]? [A-Za-z*{}'\"(]")
# Every answer of the sandbox is recorded elsewhere.
SOURCES = [module for module in MODULES if module.unit != "sandbox"]


def text_of(node: ast.expr) -> str:
    """Return a text with `{}` for each value in it; empty for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def docstrings() -> Iterator[str]:
    """Yield the docstring of every public name."""
    for module in MODULES:
        for node in module.nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = module.name if isinstance(node, ast.Module) else node.name
                if not name.startswith("_") and (text := ast.get_docstring(node)):
                    yield f"{name}: {text}"


def logs() -> Iterator[str]:
    """Yield the events of the log with their levels."""
    for node in (node for module in SOURCES for node in module.nodes):
        match node:
            case (
                ast.Call(func=ast.Attribute(attr=level), args=[event, *_])
                | ast.Call(func=ast.Name("report"), args=[ast.Attribute(attr=level), event])
            ) if level in _LEVELS:
                if text := text_of(event):
                    yield f"{level} {text!r}"


def messages() -> Iterator[str]:
    """Yield every other text for people: of errors, faults, pages and reports."""
    for module in SOURCES:
        skipped = set(_elsewhere(module))
        for node in module.nodes:
            if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in skipped:
                text = text_of(node)
                if _PROSE.search(text):
                    yield repr(text)


def _elsewhere(module: Module) -> Iterator[int]:
    """Yield the docstrings, the events of the log, the help texts, and the pieces of texts."""
    for node in module.nodes:
        match node:
            case ast.JoinedStr(values=parts):
                yield from map(id, parts)
            case ast.Expr(value=text) | ast.keyword(arg="help" | "description", value=text):
                yield id(text)
            case ast.Call(func=ast.Attribute(attr=level), args=[text, *_]) if level in _LEVELS:
                yield id(text)
            case ast.Call(func=ast.Name(id="Metric" | "FamilyInfo"), args=[_, text, *_]):
                yield id(text)


LISTS: dict[str, Callable[[], Iterator[str]]] = {"docstrings": docstrings, "logs": logs, "messages": messages}


def listed(name: str) -> str:
    """Return a list, sorted, each text once."""
    return "".join(f"{text}\n" for text in sorted(set(LISTS[name]())))


if __name__ == "__main__":
    sys.stdout.writelines(listed(name) for name in sys.argv[1:] or LISTS)
