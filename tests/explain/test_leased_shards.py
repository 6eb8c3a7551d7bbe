"""The explanation for a target whose shard is held by another exporter, or by none."""

from typing import Any

from exporter.clock import SYSTEM
from exporter.collectors.causes import Cause
from exporter.explain.candidates import Scope, Sources
from exporter.exposition.store import Store
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Share
from exporter.targets.target import Target

HOLDERS = {0: "edge-a/1/aa", 1: "edge-b/7/bb"}
ZONES = tuple(Target("main", "dns_zone", str(number)) for number in range(101, 131))


def evidence(share: Share, waits: str = "") -> dict[int, set[str]]:
    """Return the evidence for zones that are not polled here, by their shard; `waits` is why no shard can be held."""
    registry = Registry(share)
    registry.configure([Selection("main", "dns_zone", ZONES, setting="dns_zones")])
    store = Store(lambda: 0.0, lambda: 0.0)
    scope = Scope((), frozenset(), lambda _family: None)
    none: Any = None
    sources = Sources(
        lambda: scope, registry, store, none, none, none, "", none, SYSTEM, lambda: HOLDERS, lambda: waits
    )
    said: dict[int, set[str]] = {}
    for found in sources.of_kind(scope, "dns_zone"):
        if found.cause is not None:
            assert found.cause is Cause.OTHER_SHARD
            said.setdefault(share.owner_of(found.target.key), set()).add(found.evidence)
    return said


def test_the_exporter_that_holds_the_shard_is_named() -> None:
    assert evidence(Share(frozenset({0}), 3, may_change=True)) == {
        1: {"shard 1 of 3 polls it; edge-b/7/bb holds it"},
        2: {"shard 2 of 3 polls it; no exporter holds it at the moment"},
    }


def test_an_exporter_that_cannot_hold_a_shard_says_why() -> None:
    said = evidence(Share(frozenset(), 1, may_change=True), "its clock differs")
    assert said == {0: {"shard 0 of 1 polls it; this exporter waits: its clock differs"}}


def test_with_fixed_shards_the_own_number_is_named() -> None:
    assert evidence(Share(frozenset({0}), 2)) == {1: {"shard 1 of 2 polls it; this is 0"}}
