"""The project's rules, checked in the source: which modules import which, and what no module may do."""

import ast

from tests.for_each import for_each
from tests.rooms import LAYERS, MODULES, Module, layer_of, unit_of

# Everyone else receives values.
MAY_READ_SETTINGS = {"daemon", "wiring", "cli", "commands"}
MUTABLE = {"list", "dict", "set", "defaultdict", "deque", "Counter", "bytearray", "OrderedDict"}
MUTATORS = {
    "append", "appendleft", "add", "update", "pop", "popleft", "popitem", "setdefault", "clear", "extend", "insert",
    "remove", "discard", "sort", "reverse",
}  # fmt: skip


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {module.unit for module in MODULES} - {""}
    assert sorted(parts - frozenset().union(*LAYERS)) == []


@for_each("module", MODULES, name=lambda module: module.name)
def test_a_module_imports_downward_only(module: Module) -> None:
    used = {unit_of(name) for name in module.imports() if name.split(".")[0] == "exporter"} - {"", module.unit}
    upward = sorted(unit for unit in used if module.unit == "" or layer_of(unit) >= layer_of(module.unit))
    assert upward == []


def test_imports_are_absolute() -> None:
    relative = [
        module.name
        for module in MODULES
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []


def test_settings_are_read_where_objects_are_built() -> None:
    readers = {
        module.unit for module in MODULES if any(name.startswith("exporter.settings") for name in module.imports())
    }
    assert sorted(readers - MAY_READ_SETTINGS - {"settings"}) == []


def test_the_http_client_is_the_platforms_own_affair() -> None:
    libraries = {"httpx", "aiohttp", "yarl"}
    users = {module.name for module in MODULES if any(name.split(".")[0] in libraries for name in module.imports())}
    assert sorted(name for name in users if not name.startswith("exporter.platform.")) == []


def test_the_sandbox_s_web_framework_is_imported_by_it_alone() -> None:
    users = {module.unit for module in MODULES if any(name.split(".")[0] == "fastapi" for name in module.imports())}
    assert users == {"sandbox"}


def test_nothing_of_the_tests_or_of_the_sandbox_is_used_by_what_runs_for_real() -> None:
    strangers = [
        module.name
        for module in MODULES
        if module.unit not in ("sandbox", "commands", "")
        for name in module.imports()
        if name.startswith(("tests", "exporter.sandbox"))
    ]
    assert strangers == []


def handlers(kind: str) -> list[tuple[str, ast.ExceptHandler]]:
    """Return where a class of exceptions is caught, alone or among others."""
    return [
        (module.name, node)
        for module in MODULES
        for node in module.nodes
        if isinstance(node, ast.ExceptHandler)
        and node.type is not None
        and any(isinstance(part, ast.Name) and part.id == kind for part in ast.walk(node.type))
    ]


def test_there_is_one_boundary_at_which_any_exception_ends() -> None:
    assert [name for name, _ in handlers("Exception")] == ["exporter.polling.poll"]


def test_whoever_catches_everything_passes_it_on() -> None:
    kept = [name for name, handler in handlers("BaseException") if not isinstance(handler.body[-1], ast.Raise)]
    bare = [
        module.name
        for module in MODULES
        for node in module.nodes
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert (kept, bare) == ([], [])


def mutable_names(module: Module) -> set[str]:
    """Return the module's own names that hold a mutable object."""
    found: set[str] = set()
    for node in module.tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        is_display = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)
        is_made = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in MUTABLE
        if is_display or is_made:
            found.update(target.id for target in targets if isinstance(target, ast.Name))
    return found


def changed_names(module: Module) -> set[str]:
    """Return the names whose values a module changes: by a method, an item, or an augmented assignment."""
    found: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            found.add(last_name(node.func.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(last_name(node.value))
        elif isinstance(node, ast.AugAssign):
            found.add(last_name(node.target))
    return found


def last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_no_module_keeps_state() -> None:
    constants = {name for module in MODULES for name in mutable_names(module)} - {"__all__"}
    changed = {name: module.name for module in MODULES for name in changed_names(module) & constants}
    rebound = [module.name for module in MODULES for node in module.nodes if isinstance(node, ast.Global)]
    assert (changed, rebound) == ({}, [])


def test_every_module_says_what_it_is_for() -> None:
    silent = [module.name for module in MODULES if not (ast.get_docstring(module.tree) or "").split("\n")[0].strip()]
    assert silent == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    words = {"utils", "util", "helpers", "helper", "manager", "common", "base", "misc"}
    assert [module.name for module in MODULES if words & set(module.name.split(".")[-1].split("_"))] == []
