"""All shards together poll every target, and no target is polled by two of them."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter.collectors import discovery
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey
from exporter.wiring import from_settings
from tests.counters.sandboxed_daemons import RunningDaemon
from tests.shards.sharded_daemons import MEANWHILE, series_of, sharded_daemons

KINDS = (
    *("account", "dns_zone", "script", "shield_zone", "rate_limit", "access_list", "waf_custom_rule", "image"),
    *("search", "database", "query"),
)


def settings_of(dice: random.Random) -> Settings:
    """Return two accounts, of which one discovers zones, and a database, with ids at random."""

    def ids() -> list[int]:
        return dice.sample(range(1, 500), dice.randrange(30))

    def items(**parents: Sequence[int]) -> list[dict[str, int]]:
        return [{"id": one, **{key: dice.choice(values) for key, values in parents.items()}} for one in ids()]

    at = {"base_url": "http://127.0.0.1:1", "api_key": "key"}
    accounts = [
        {
            **at,
            "name": name,
            "dns_zones": {"discover": name == "first", "ids": ids()},
            "scripts": {"ids": ids()},
            "shield_zones": {"ids": ids()},
            "rate_limits": items() if name == "first" else items(shield_zone_id=range(1, 20)),
            "access_lists": items(shield_zone_id=range(1, 20)),
            "waf_custom_rules": items(),
            "searches": [f"term-{one}" for one in ids()],
        }
        for name in ("first", "second")
    ]
    queries = [{"name": f"q_{one}", "sql": "SELECT 1 AS v", "value": "v"} for one in ids()]
    database = {"name": "db", "url": "http://127.0.0.1:1", "auth_token": "t", "queries": queries}
    return Settings.model_validate({"accounts": accounts, "databases": [database]})


def whole(*resources: Resource) -> ResourceList:
    return ResourceList(resources, complete=True)


def random_inventory(dice: random.Random) -> Inventory:
    shields = [str(one) for one in dice.sample(range(1, 60), dice.randrange(30))]
    limits = (Resource(str(1000 + number), parent=dice.choice(shields)) for number in range(40 if shields else 0))
    return Inventory(
        {
            "dns_zone": whole(*(Resource(str(one), f"zone-{one}") for one in range(dice.randrange(200)))),
            "script": whole(*(Resource(str(one)) for one in range(dice.randrange(40)))),
            "shield_zone": whole(*map(Resource, shields)),
            "rate_limit": whole(*limits),
        }
    )


def registry_of(shard: Shard, settings: Settings | None = None) -> Registry:
    """Return a configured registry, by default of one account that discovers all."""
    account = {"name": "a", "base_url": "http://127.0.0.1:1", "api_key": "k"}
    registry = Registry(shard)
    registry.configure(from_settings.selections(settings or Settings.model_validate({"accounts": [account]})))
    return registry


def targets_of(shard: Shard, settings: Settings, inventories: dict[str, Inventory]) -> Counter[Target]:
    """Return the targets that a shard polls as its own."""
    registry = registry_of(shard, settings)
    for account, inventory in inventories.items():
        listed = inventory
        if shard.total > 1:
            # It asks for the rate limits of its own shield zones alone.
            limits = inventory.lists["rate_limit"].resources
            own = (one for one in limits if registry.owns(TargetKey.of(account, "shield_zone", one.parent)))
            listed = Inventory({**inventory.lists, "rate_limit": whole(*own)})
        registry.apply(account, listed)
    return Counter(target for kind in KINDS for target in registry.targets(kind) if target.key in registry.by_key)


@pytest.mark.parametrize("total", [1, 2, 3, 4, 7, 16])
def test_every_target_is_on_one_shard(total: int) -> None:
    dice = random.Random(total)  # noqa: S311 - made-up targets
    for _ in range(3):
        settings = settings_of(dice)
        inventories = {account.name: random_inventory(dice) for account in settings.accounts}
        alone = targets_of(Shard(), settings, inventories)
        shared: Counter[Target] = Counter()
        for index in range(total):
            shared += targets_of(Shard(index, total), settings, inventories)
        assert shared == alone


@pytest.mark.parametrize("total", [2, 5])
def test_every_shard_lists_what_an_account_has_and_one_speaks_of_it(total: int) -> None:
    settings = settings_of(random.Random(7))  # noqa: S311
    for account in settings.accounts:
        speaking = 0
        for index in range(total):
            registry = registry_of(Shard(index, total), settings)
            listed = registry.targets("account", every_shard=discovery.COLLECTOR.every_shard)
            (target,) = (target for target in listed if target.account == account.name)
            assert discovery.COLLECTOR.wants(target)
            speaking += target.key in registry.by_key
        assert speaking == 1


def test_nothing_is_kept_of_what_is_another_shards() -> None:
    registry = registry_of(Shard(0, 4))
    registry.apply("a", Inventory({"dns_zone": whole(*(Resource(str(one), "n") for one in range(1000)))}))
    named = [one for one in range(1000) if registry.name_of(TargetKey.of("a", "dns_zone", str(one)))]
    assert len(named) == len(list(registry.targets("dns_zone"))) == pytest.approx(250, rel=0.2)


def test_a_listing_that_tells_nothing_new_changes_nothing() -> None:
    registry, versions = registry_of(Shard()), []
    for name in ("n", "n", "renamed"):
        registry.apply("a", Inventory({"dns_zone": whole(Resource("1", name), Resource("2", "m"))}))
        versions.append(registry.version)
    assert versions[0] == versions[1] < versions[2]


def lists_of(pod: RunningDaemon) -> tuple[list[str], list[str]]:
    """Return the collectors that poll the first account, and those of them that publish something of it."""
    due_times = pod.daemon.schedule.due_times
    account = TargetKey.of("main", "account", "main")
    polling = sorted(key.collector for key in due_times.polled() if key.target == account)
    return polling, sorted(key.collector for key, _ in pod.daemon.polling.store.statuses() if key.target == account)


@pytest.mark.parametrize("total", [2, 3])
async def test_all_shards_serve_together_what_one_exporter_serves(tmp_path: Path, total: int) -> None:
    (tmp_path / "whole").mkdir()
    async with sharded_daemons(tmp_path) as shared:
        async with shared.running(total) as pods:
            parts = [await series_of(pod) for pod in pods]
            lists = sorted(map(lists_of, pods))
        shared.folder = tmp_path / "whole"
        async with shared.running(1) as (pod,):
            alone = await series_of(pod)
    assert all(parts), "each has its share"
    listing, every = ["discovery", "shield_zones"], ["discovery", "shield_waf_plans", "shield_zones"]
    assert lists == [(every, every)] + [(listing, [])] * (total - 1)
    counted = Counter(series for part in parts for series in part)
    assert [series for series, times in counted.items() if times > 1] == []
    assert set(counted) == set(alone)
    differing = {series for part in parts for series, value in part.items() if value != alone[series]}
    assert [series for series in differing if not series.partition("{")[0].endswith(MEANWHILE)] == []
