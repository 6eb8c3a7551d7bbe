"""The registry of targets."""

import pytest

from exporter.foreign.patterns import Pattern
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey


def zones(*names: str, complete: bool = True) -> Inventory:
    """Return a listing of zones 101, 102, ... with these names."""
    resources = tuple(Resource(str(number), name) for number, name in enumerate(names, start=101))
    return Inventory({"dns_zone": ResourceList(resources, complete)})


def registry(selection: Selection, shard: Shard | None = None) -> Registry:
    """Return a registry with one selection."""
    made = Registry(shard or Shard())
    made.configure([selection])
    return made


def ids(made: Registry) -> list[str]:
    """Return the ids of the polled zones."""
    return [target.id for target in made.targets("dns_zone")]


DISCOVERING = Selection("main", "dns_zone", discover=True)


def test_only_names_that_match_an_include_and_no_exclude_pattern_are_polled() -> None:
    selection = Selection(
        "main",
        "dns_zone",
        discover=True,
        include=(Pattern("^prod-"),),
        exclude=(Pattern("old"), Pattern("x$")),
    )
    made = registry(selection)
    for names in (("prod-a", "prod-old", "dev-a", "prod-x", "prod-b"), ("",) * 5):
        made.apply("main", zones(*names))
        assert ids(made) == ["101", "105"], "a name that is left out stays"


def test_a_rejection_says_why() -> None:
    selection = Selection("main", "dns_zone", discover=True, include=(Pattern("^prod-"),), exclude=(Pattern("old"),))
    assert selection.rejection("dev") == ("include",)
    assert selection.rejection("prod-old") == ("exclude", 0)
    assert selection.rejection("prod-a") is None
    assert Selection("main", "dns_zone").rejection("prod-a") == ()


def test_a_fixed_id_is_polled_whatever_its_name_and_whether_or_not_it_is_listed() -> None:
    fixed = Target("main", "dns_zone", "7")
    made = registry(Selection("main", "dns_zone", (fixed,), discover=True, include=(Pattern("^prod-"),)))
    assert ids(made) == ["7"]
    made.apply("main", zones("prod-a"))
    made.apply("main", zones("prod-a"))
    made.apply("main", zones("prod-a"))
    assert ids(made) == ["7", "101"]


def test_a_name_that_the_target_s_own_answer_gave_stays_with_the_target() -> None:
    made = registry(Selection("main", "script", (Target("main", "script", "7"),)))
    (nameless,) = made.targets("script")
    assert made.learn(nameless, "router").name == "router"
    assert made.learn(nameless, "").name == made.by_key[nameless.key].name == "router"
    assert [target.name for target in made.targets("script")] == ["router"]


def test_names_of_an_earlier_run_are_known_before_any_discovery() -> None:
    made = Registry(Shard())
    made.remember({TargetKey.of("main", "dns_zone", "7"): "remembered"})
    made.configure([Selection("main", "dns_zone", (Target("main", "dns_zone", "7"),))])
    assert [target.name for target in made.targets("dns_zone")] == ["remembered"]


def test_a_rate_limit_belongs_to_the_shard_of_its_shield_zone() -> None:
    fixed = Target("main", "rate_limit", "7", "login", {"shield_zone_id": "3"})
    # Of four shards, shield zone 3 belongs to the third and shield zone 4 to the second.
    made = Registry(Shard(1, 4))
    made.configure([Selection("main", "rate_limit", (fixed,), discover=True)])
    found = TargetKey.of("main", "rate_limit", "55")
    keys = (fixed.key, found, *(TargetKey.of("main", "shield_zone", zone) for zone in "34"))
    assert [made.shard_of(key) for key in keys] == [2, None, 2, 1]
    assert [made.is_strange(key) for key in keys] == [True, False, True, False]
    made.apply("main", Inventory({"rate_limit": ResourceList((Resource("55", parent="4"),), complete=True)}))
    assert made.shard_of(found) == 1
    limits = [(target.name, target.attributes["shield_zone_id"]) for target in made.targets("rate_limit")]
    assert limits == [("", "4")]


def test_a_configuration_without_a_kind_removes_its_targets() -> None:
    made = registry(DISCOVERING)
    made.apply("main", zones("a"))
    change = made.configure([])
    assert [target.key.label for target in change.removed] == ["dns_zone/101"]


def test_nothing_is_kept_of_what_is_another_shard_s() -> None:
    made = registry(DISCOVERING, Shard(0, 4))
    made.apply("main", zones(*["n"] * 1000))
    named = [number for number in range(2000) if made.name_of(TargetKey.of("main", "dns_zone", str(number)))]
    assert len(named) == len(list(made.targets("dns_zone"))) == pytest.approx(250, rel=0.2)


def test_targets_are_found_by_their_key_in_any_account() -> None:
    made = Registry(Shard())
    made.configure([Selection(account, "dns_zone", (Target(account, "dns_zone", "7"),)) for account in ("a", "b")])
    assert [target.account for target in made.find("dns_zone/7")] == ["a", "b"]
    assert made.find("dns_zone/8") == []
    assert made.find("nonsense") == []
