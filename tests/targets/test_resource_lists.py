"""What every exporter knows of the targets of all shards, from one list after another and from the state."""

import zlib
from collections import Counter

import pytest

from exporter.targets.registry import Registry
from exporter.targets.resource_lists import KnownResources
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey
from tests.targets.test_registry import DISCOVERING, registry, zones

PLACE = ("main", "dns_zone")
SHORT = zones("a", complete=False)
# name → the listings, and the names that are known after them
LISTINGS = {
    "all of a complete list": ([zones("a", "b", "c")], "abc"),
    "a list that ends early adds": ([SHORT, zones("a", "b", complete=False)], "ab"),
    "and removes nothing": ([zones("a", "b", "c"), SHORT, SHORT, zones("a", "b")], "abc"),
    "one complete list without it": ([zones("a", "b", "c"), zones("a", "b")], "abc"),
    "and an incomplete one": ([zones("a", "b", "c"), zones("a", "b"), SHORT], "abc"),
    "two of them": ([zones("a", "b", "c"), zones("a", "b"), zones("a", "b")], "ab"),
    "two with a short one between": ([zones("a", "b", "c"), zones("a", "b"), SHORT, zones("a", "b")], "ab"),
    "two, and one with it between": ([zones("a", "b"), zones("a"), zones("a", "b"), zones("a")], "ab"),
    "two, and a short one with it between": (
        [zones("a", "b"), zones("a"), zones("a", "b", complete=False), zones("a")],
        "ab",
    ),
    "a list of nothing": ([zones("a"), zones(), zones()], ""),
    "another name": ([zones("a", "b"), zones("a", "x")], "ax"),
    "a name that is left out": ([zones("a", "b"), zones("a", "")], "ab"),
    "no list of the kind": ([zones("a", "b"), Inventory({}), Inventory({})], "ab"),
}


def names(made: Registry) -> str:
    """Return the names of the zones that an exporter knows, in the order of their ids."""
    return "".join(one.name for one in sorted(made.selected(*PLACE)))


def restored(made: Registry, after: Registry | None = None) -> Registry:
    """Return the registry of the next start."""
    after = after or registry(DISCOVERING, Shard(0, 1))
    made.save(lambda account, kind, packed: after.restore((account, kind), packed))
    made.save(lambda *_: pytest.fail("a list is saved twice"))
    return after


@pytest.mark.parametrize("shard", [Shard(), Shard(0, 2), Shard(1, 2)], ids=["one", "first of two", "second"])
@pytest.mark.parametrize(("listings", "known"), LISTINGS.values(), ids=LISTINGS)
def test_every_shard_knows_all_targets_and_so_does_the_next_start(
    shard: Shard, listings: list[Inventory], known: str
) -> None:
    made = registry(DISCOVERING, shard)
    for listing in listings:
        made.apply("main", listing)
    after = restored(made)
    assert (names(made), names(after)) == (known, known)
    assert shard.total > 1 or "".join(target.name for target in made.targets("dns_zone")) == known
    whole = any(found.complete for listing in listings for found in listing.lists.values())
    assert (made.is_known_whole(*PLACE), after.is_known_whole(*PLACE)) == (whole, whole)


def test_a_damaged_list_of_the_state_is_ignored() -> None:
    made = registry(DISCOVERING)
    later = zlib.compress(b'[4, true, "", [], [["101", "a", "", null]]]')
    for damaged in (b"", b"x", later, zlib.compress(b"true"), zlib.compress(b"{"), KnownResources(PLACE).pack()[:-4]):
        made.restore(PLACE, damaged)
    assert (names(made), made.is_known_whole(*PLACE)) == ("", False)


def test_names_of_configured_ids_are_looked_up_for_all_shards() -> None:
    fixed = tuple(Target(*PLACE, str(number)) for number in range(101, 107))
    for index in range(2):
        made = registry(type(DISCOVERING)(*PLACE, fixed), Shard(index, 2))
        found = [Resource(str(number), name) for number, name in zip(range(101, 108), "abcdefg", strict=True)]
        made.apply("main", Inventory({"dns_zone": ResourceList(tuple(found), complete=True)}))
        assert names(made) == "abcdef"


def test_a_script_of_another_shard_is_to_be_read_until_its_host_names_are_known() -> None:
    resources = tuple(Resource(str(number), f"script-{number}") for number in range(300))
    made = registry(type(DISCOVERING)("main", "script", discover=True, attributes={"read": "get"}), Shard(0, 2))
    made.apply("main", Inventory({"script": ResourceList(resources, complete=True)}))
    read: list[TargetKey] = []
    while unread := made.unread_scripts("main"):
        assert len(unread) <= 100
        for script in unread:
            made.record_facts(script.key, {})
            read.append(script.key)
    assert len(read) == len(set(read)) == 300 - len(list(made.targets("script")))
    assert restored(made, registry(made.selections("script")[0], Shard(0, 2))).unread_scripts("main") == []


def test_a_shard_reports_the_rate_limits_of_its_own_zones_alone() -> None:
    own, other = Shard(0, 2), Shard(1, 2)
    keys = [TargetKey.of("main", "shield_zone", str(number)) for number in range(99)]
    zone_of = {shard: next(key.id for key in keys if shard.owner_of(key) == shard.index) for shard in (own, other)}
    limits = {shard: tuple(Resource(f"{shard.index}{n}", parent=zone) for n in "12") for shard, zone in zone_of.items()}
    place = ("main", "rate_limit")
    before = registry(type(DISCOVERING)(*place, discover=True), other)
    # The other exporter has seen the own shard's rate limits in one list only.
    for listed in (limits[own], limits[other], limits[other]):
        before.apply("main", Inventory({"rate_limit": ResourceList(listed, complete=True)}))
    after = registry(type(DISCOVERING)(*place, discover=True), own)
    before.save(lambda account, kind, packed: after.restore((account, kind), packed))
    assert after.removals() == []
    for listed in (limits[own], limits[own], limits[own][:1], limits[own][:1]):
        after.apply("main", Inventory({"rate_limit": ResourceList(listed, complete=True)}))
    assert [one.key.id for one in after.removals()] == ["02"]


def test_the_newest_thousand_removals_of_each_account_are_reported() -> None:
    now, accounts = [0.0], ("main", "other")
    made = Registry(Shard(), lambda: now[0])
    made.configure([type(DISCOVERING)(account, "dns_zone", discover=True) for account in accounts])
    for now[0], left in enumerate((range(1, 1003), range(2, 1003), range(2, 1003), (), ())):
        listed = tuple(Resource(str(number), f"zone-{number}") for number in left)
        for account in accounts:
            made.apply(account, Inventory({"dns_zone": ResourceList(listed, complete=True)}))
    removals = made.removals()
    assert Counter(one.key.account for one in removals) == dict.fromkeys(accounts, 1000)
    assert "1" not in {one.key.id for one in removals}, "it left first"


def test_a_list_from_before_zones_were_discovered_is_not_whole() -> None:
    fixed = (Target(*PLACE, "101"),)
    made = registry(type(DISCOVERING)(*PLACE, fixed))
    made.apply("main", zones("a", "b"))
    made.configure([type(DISCOVERING)(*PLACE, fixed, discover=True)])
    assert (names(made), made.is_known_whole(*PLACE)) == ("a", False)
