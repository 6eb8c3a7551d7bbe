"""The registry of targets."""

from dataclasses import replace
from typing import Any

from exporter.targets.registry import Registry
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey
from exporter.untrusted.patterns import Pattern


def zones(*names: str, complete: bool = True) -> Inventory:
    """Return a listing of zones 101, 102, ... with these names."""
    resources = tuple(Resource(str(number), name) for number, name in enumerate(names, start=101))
    return Inventory({"dns_zone": ResourceList(resources, complete)})


def registry(selection: Selection, shard: Shard | None = None) -> Registry:
    """Return a registry with one selection."""
    made = Registry(shard or Shard(), lambda: 0.0)
    made.configure([selection])
    return made


DISCOVERING = Selection("main", "dns_zone", discover=True)


def test_only_names_that_match_an_include_and_no_exclude_pattern_are_polled() -> None:
    selection = replace(DISCOVERING, include=(Pattern("^prod-"),), exclude=(Pattern("old"), Pattern("x$")))
    made = registry(selection)
    for names in (("prod-a", "prod-old", "dev-a", "prod-x", "prod-b"), ("",) * 5):
        made.apply("main", zones(*names))
        assert [one.id for one in made.targets("dns_zone")] == ["101", "105"], "a name that is left out stays"
        assert [one.key.id for one in made.selected("main", "dns_zone")] == ["101", "105"]
    made.configure([replace(selection, fixed=(Target("main", "dns_zone", "103"),))])
    assert made.name_of(TargetKey.of("main", "dns_zone", "103")) == "dev-a", "a list has said it"


def test_a_learnt_name_stays_until_a_list_has_another_or_the_zone_is_gone() -> None:
    made, zone = registry(DISCOVERING), Target("main", "dns_zone", "101")
    made.apply("main", zones(""))
    made.record_name(zone.key, "learnt")
    assert made.named(zone).name == "learnt"
    for listed, known in ((zones(""), "learnt"), (zones("listed"), "listed"), (zones(), "listed"), (zones(), "")):
        made.apply("main", listed)
        assert (made.name_of(zone.key), "".join(one.name for one in made.targets("dns_zone"))) == (known, known)
    configured = registry(replace(DISCOVERING, fixed=(zone,)))
    for listed in (zones("listed"), zones(), zones()):
        configured.apply("main", listed)
    assert [target.name for target in configured.targets("dns_zone")] == ["listed"]
    changes: tuple[dict[str, Any], ...] = ({"attributes": {"read": "get"}}, {"watched": ("1.2",)}, {"interval": 9.0})
    for change in changes:
        zone = replace(zone, **change)
        configured.configure([replace(DISCOVERING, fixed=(zone,))])
        assert {name: getattr(configured.by_key[zone.key], name) for name in change} == change
    # A name of the configuration replaces one that an earlier configuration gave, also in outcomes of polls.
    configured.configure([replace(DISCOVERING, fixed=(replace(zone, name="new"),))])
    assert (configured.named(zone).name, [one.name for one in configured.targets("dns_zone")]) == ("new", ["new"])
    # A script's own answer has its new name before the search has it, which alone decides whether it is polled.
    renamed = registry(Selection("main", "script", discover=True, exclude=(Pattern("^new$"),)))
    for searched, known in (("", ""), ("", "new"), ("old", "old"), ("old", "new"), ("newest", "newest")):
        renamed.apply("main", Inventory({"script": ResourceList((Resource("7", searched),), complete=True)}))
        selected = [one.name for one in renamed.selected("main", "script")]
        assert ([one.name for one in renamed.targets("script")], selected) == ([known], [searched or known])
        renamed.record_name(TargetKey.of("main", "script", "7"), "new")


def test_a_name_that_a_poll_from_before_a_reload_learns_leaves_what_the_reload_set() -> None:
    made, before = registry(DISCOVERING), Target("main", "dns_zone", "101")
    made.apply("main", zones("old"))
    made.configure([replace(DISCOVERING, attributes={"read": "get"})])
    made.record_name(before.key, "new")
    assert [(one.name, one.attributes) for one in made.targets("dns_zone")] == [("new", {"read": "get"})]


def test_targets_are_in_the_order_of_their_numbers_after_those_whose_ids_are_texts() -> None:
    keys = sorted(TargetKey.of("main", "search", one) for one in ("10", "9", "c", "bb", "²"))
    assert [key.id for key in keys] == ["bb", "c", "²", "9", "10"]


def test_a_rate_limit_belongs_to_the_shard_of_its_shield_zone() -> None:
    fixed = Target("main", "rate_limit", "7", "login", {"shield_zone_id": "3"})
    # Of four shards, shield zone 3 belongs to the third and shield zone 4 to the second.
    made = Registry(Shard(1, 4), lambda: 0.0)
    made.configure([Selection("main", "rate_limit", (fixed,), discover=True)])
    found = TargetKey.of("main", "rate_limit", "55")
    keys = (fixed.key, found, *(TargetKey.of("main", "shield_zone", zone) for zone in "34"))
    assert [made.owner_of(key, parent) for key, parent in zip(keys, ("4", "4", "", ""), strict=True)] == [2, 1, 2, 1]
    assert [made.is_elsewhere(key) for key in keys] == [True, False, True, False]
    assert not made.is_elsewhere(TargetKey.of("main", "account", "")), "the lists of an account belong to no shard"
    made.apply("main", Inventory({"rate_limit": ResourceList((Resource("55", parent="4"),), complete=True)}))
    assert [(one.name, one.attributes["shield_zone_id"]) for one in made.targets("rate_limit")] == [("", "4")]
    spare = registry(Selection("main", "account", (Target("main", "account", "main"),)), Shard(None, 2))
    assert list(spare.targets("account", every_shard=True)) == []
