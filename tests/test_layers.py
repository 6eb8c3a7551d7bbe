"""The project's rules, checked in the source: which modules import which, and what no module may do."""

import ast

import pytest

from tests.rooms import LAYERS, MODULES, Module, layer_of, unit_of


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
        # All other rooms receive values; `explain` names what the configuration leaves out, with its line.
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


# Everything that the daemon uses of its machine is in one value, so that a simulation can replace it.
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
