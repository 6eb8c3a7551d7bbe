"""Tests use public names only: no test reads, replaces or imports a private name of another object or module."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
PATCHING = {"setattr", "delattr", "getattr", "hasattr", "patch"}
# NamedTuple's own methods, which are public.
NAMED_TUPLE = {"_replace", "_asdict", "_fields"}
# File → private names that it may use, and why.
ALLOWED = {
    "conftest.py": {"httpx._transports.default.create_ssl_context": "httpx has no public place to cache certificates"},
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and len(name) > 1 and name not in NAMED_TUPLE


def private_names(tree: ast.Module) -> set[str]:
    """Return the private names of other objects and modules that a test module uses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            found |= set() if owner in {"self", "cls"} else {node.attr}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if is_private(alias.name)}
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            own = node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
            names = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if called in PATCHING and not own:
                found |= {name for name in names[:1] if any(map(is_private, name.split(".")))}
    return found


def test_tests_use_no_private_name_of_what_they_test() -> None:
    files = {file: private_names(ast.parse(file.read_text(encoding="utf-8"))) for file in TESTS.rglob("*.py")}
    # Equal, so that an exception goes when it is not used any more.
    used = {str(file.relative_to(TESTS)): names for file, names in files.items() if names}
    assert used == {file: set(names) for file, names in ALLOWED.items()}
