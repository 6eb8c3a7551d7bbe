"""Which test files can see a module: those that import it, through whatever lies between."""

import ast
from collections import deque
from functools import cache
from pathlib import Path

from tests.conftest import LONGEST
from tests.rooms import MODULES

ROOT = Path(__file__).parents[2]
# They check texts and documents, start real parts, or are no tests.
_ASIDE = ("bench", "browser", "chaos", "dashboards", "demo", "deploy", "fuzz", "pictures", "rules", "scale", "soak")


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module of the package and of the tests imports."""
    found = {module.name: set(module.imports()) for module in MODULES}
    for file in (ROOT / "tests").rglob("*.py"):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        names = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found[name] = names
    return found


def distances(module: str) -> dict[str, int]:
    """Return how many imports lie between each importer and a module."""
    found = {module: 0}
    waiting = deque([module])
    while waiting:
        near = waiting.popleft()
        for name, imported in imports().items():
            if name not in found and any(one == near or one.startswith(f"{near}.") for one in imported):
                found[name] = found[near] + 1
                waiting.append(name)
    return found


def stages(file: str) -> list[list[str]]:
    """Return test files that can see a file of the package, in the order in which they are run.

    First those of its own room and its importers, then the others, the nearest first, then the slow ones.
    """
    module = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    away, room = distances(module), module.split(".")[1]
    folders = {name: name.split(".")[1] for name in imports() if name.split(".")[-1].startswith("test_")}
    own = {name for name, folder in folders.items() if folder in (room, f"test_{room}")}
    tests = [name for name, folder in folders.items() if (name in own or name in away) and folder not in _ASIDE]
    tests.sort(key=lambda name: (name not in own, away.get(name, len(away)), name))
    slow = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in LONGEST}
    near = {name for name in tests if name not in slow and (name in own or away[name] == 1)}
    far = set(tests) - near - slow
    return [[name.replace(".", "/") + ".py" for name in tests if name in stage] for stage in (near, far, slow)]
