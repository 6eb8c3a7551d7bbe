"""The project's rules, checked in the source: which modules import which, and what no module may do."""

import ast

import pytest

from tests.rooms import LAYERS, MODULES, Module, layer_of, unit_of

MUTABLE = {"list", "dict", "set", "defaultdict", "deque", "Counter", "bytearray", "OrderedDict"}
MUTATORS = {
    "append", "appendleft", "add", "update", "pop", "popleft", "popitem", "setdefault", "clear", "extend", "insert",
    "remove", "discard", "sort", "reverse",
}  # fmt: skip


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {module.unit for module in MODULES} - {""}
    assert sorted(parts - frozenset().union(*LAYERS)) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_imports_downward_only(module: Module) -> None:
    used = {unit_of(name) for name in module.imports() if name.split(".")[0] == "exporter"} - {"", module.unit}
    upward = sorted(unit for unit in used if module.unit == "" or layer_of(unit) >= layer_of(module.unit))
    assert upward == []


@pytest.mark.parametrize(
    ("imported", "rooms"),
    [
        # Everyone else receives values; `explain` names what the configuration leaves out, with its line.
        (("exporter.settings",), {"settings", "explain", "daemon", "wiring", "cli", "commands"}),
        (("httpx", "aiohttp", "yarl"), {"platform"}),
        (("fastapi",), {"sandbox"}),
        (("exporter.sandbox",), {"sandbox", "commands"}),
        (("tests",), set()),
    ],
)
def test_what_only_some_rooms_may_import(imported: tuple[str, ...], rooms: set[str]) -> None:
    found = {module.unit for module in MODULES for name in module.imports() if f"{name}.".startswith(names(imported))}
    assert sorted(found - rooms) == []


def names(imported: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}." for name in imported)


# What the daemon takes of its machine stands in one value, so that a simulation can replace it.
ON_A_MACHINE = {"polling", "counters", "daemon", "exposition", "targets", "platform"}


def test_only_the_daemons_machine_has_clocks_randomness_and_threads() -> None:
    owners = {"time", "random", "secrets", "threading", "concurrent.futures.ThreadPoolExecutor", "asyncio.to_thread"}
    modules = [module for module in MODULES if module.unit in ON_A_MACHINE and module.name != "exporter.daemon.machine"]
    found = {(module.name, name) for module in modules for name in module.imports() if name in owners}
    called = {
        (module.name, node.attr)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr in {"to_thread", "utcnow"}
    }
    assert found | called == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_is_named_for_what_it_is(module: Module) -> None:
    assert not {"utils", "util", "helpers", "helper", "manager", "common", "base", "misc"} & set(
        module.name.split(".")[-1].split("_")
    )


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


def test_a_poll_an_entry_of_the_ledger_and_a_round_are_the_boundaries_at_which_any_exception_ends() -> None:
    # A poll has two: of its calls, and of each target in its answer.
    rooms = ["exporter.counters.ledger", "exporter.daemon.tasks", "exporter.polling.poll", "exporter.polling.poll"]
    assert [name for name, _ in handlers("Exception")] == rooms


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
