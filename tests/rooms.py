"""The rooms of the package and the imports between them, read from the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import exporter

PACKAGE = Path(exporter.__file__).parent

# From low to high. A room may import the rooms on earlier lines, but not those on its own line.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"untrusted"}),
    frozenset({"assets", "blocking", "clock", "log", "mask", "metric"}),
    frozenset({"label_values", "platform", "http_server"}),
    frozenset({"targets", "sandbox", "validation"}),
    frozenset({"collectors", "counters", "telemetry"}),
    frozenset({"settings", "exposition", "backfill"}),
    frozenset({"polling", "explain"}),
    frozenset({"web", "wiring"}),
    frozenset({"daemon"}),
    frozenset({"commands"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)


@dataclass(frozen=True)
class Module:
    """A module of the package, and its source."""

    name: str
    file: Path

    @property
    def unit(self) -> str:
        """The part of the package that the module belongs to; empty for the package's own root."""
        return unit_of(self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return every node of its syntax tree."""
        return list(ast.walk(ast.parse(self.file.read_text(encoding="utf-8"))))

    def imports(self) -> Iterator[str]:
        """Return the modules, and the names of modules, that it imports."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def unit_of(name: str) -> str:
    parts = name.split(".")
    # Names of the package's root, such as its version, belong to no layer.
    return parts[1] if len(parts) > 1 and is_part(parts[1]) else ""


def is_part(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def modules() -> list[Module]:
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = ["exporter", *file.relative_to(PACKAGE).with_suffix("").parts]
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), file))
    return found


MODULES = modules()


def layer_of(unit: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if unit in layer)
