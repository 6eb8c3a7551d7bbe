"""When the number of shards changes, some targets move: nothing is counted twice, and only the gap is lost."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from exporter.targets.sharding import Shard, Share
from exporter.targets.target import TargetKey
from tests.counters.sandboxed_daemons import RunningDaemon, running_daemon
from tests.shards.sharded_daemons import ShardedDaemons, series_of, sharded_daemons

COUNTERS = ("edge_dns_queries_total", "edge_shield_rate_limit_breaches_total")
HOUR = 3600.0

# Which pod, which series → values in the order in which they were served.
Served = dict[tuple[int, str], list[float]]


class Witness:
    """Records the served values, and the true counts."""

    def __init__(self, shared: ShardedDaemons) -> None:
        self.shared = shared
        self.served: Served = {}
        self.gaps: dict[int, int] = {}
        self.first = {zone: self.true(zone) for zone in shared.world.dns.zones}

    def true(self, zone: int) -> int:
        """Return all queries of a zone up to now."""
        clock = self.shared.world.clock
        return sum(self.shared.world.dns.true_queries(zone, day) for day in days_until(clock.now()))

    async def note(self, pods: list[RunningDaemon]) -> None:
        """Record every counter of every pod; no series may be served twice."""
        seen: set[str] = set()
        for index, pod in enumerate(pods):
            for series, value in (await series_of(pod)).items():
                if series.startswith(COUNTERS):
                    assert series not in seen
                    seen.add(series)
                    self.served.setdefault((index, series), []).append(value)

    async def live(self, total: int) -> None:
        """Run all shards of a total for an hour."""
        async with self.shared.running(total) as pods:
            await self.note(pods)
            self.shared.world.clock.advance(HOUR)
            for pod in pods:
                await pod.poll("dns_statistics", "shield_rate_limits")
            await self.note(pods)

    def pause(self, seconds: float) -> None:
        """Let time pass while no shard runs."""
        before = {zone: self.true(zone) for zone in self.first}
        self.shared.world.clock.advance(seconds)
        for zone in self.first:
            self.gaps[zone] = self.gaps.get(zone, 0) + self.true(zone) - before[zone]

    def counted(self, zone: int) -> float:
        """Return the sum of a zone's counts in all pods: differences of raw samples, where a fall is a restart."""
        marks = (COUNTERS[0], 'account="main"', f'zone_id="{zone}"')
        found = [values for (_, series), values in self.served.items() if all(mark in series for mark in marks)]
        pairs = (pair for values in found for pair in pairwise(values))
        return sum(after - before if after >= before else after for before, after in pairs)


def days_until(now: float) -> list[date]:
    """Return today and the days before."""
    today = datetime.fromtimestamp(now, UTC).date()
    return [today - timedelta(days=number) for number in range(40)]


def owned(shared: ShardedDaemons, index: int, total: int) -> set[int]:
    """Return the zones of a shard."""
    shard = Shard(index, total)
    return {zone for zone in shared.world.dns.zones if shard.owns(TargetKey.of("main", "dns_zone", str(zone)))}


def rows_of(shared: ShardedDaemons, index: int, collector: str = "dns_statistics", account: str = "main") -> set[int]:
    """Return the ids with rows in the state of a stopped pod."""
    keys = shared.rows(index)
    return {int(key.target.id) for key in keys if (key.collector, key.target.account) == (collector, account)}


async def test_2_shards_become_3_at_once_and_2_again_after_a_gap(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, zones=24) as shared:
        witness = Witness(shared)
        everything = set(shared.world.dns.zones)
        changing = everything.difference(*(owned(shared, index, 2) & owned(shared, index, 3) for index in range(2)))
        assert 3 < len(changing) < 15

        await witness.live(2)
        assert rows_of(shared, 0) | rows_of(shared, 1) == everything
        await witness.live(3)
        assert rows_of(shared, 2) == changing
        assert (rows_of(shared, 0) | rows_of(shared, 1)) & changing == set(), "a lost row is deleted at once"
        witness.pause(600.0)
        await witness.live(2)

        true = {zone: witness.true(zone) - witness.first[zone] for zone in everything}
        lost = {zone: witness.gaps[zone] if zone in changing else 0 for zone in everything}
        assert {zone: true[zone] - witness.counted(zone) for zone in everything} == lost


async def test_rows_of_rate_limits_go_where_their_shield_zones_are(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, shield_zones=9) as shared:
        limits = {(limit, one.shield_zone_id) for limit, one in shared.world.rate_limits.limits.items()}
        for total in (1, 2, 3, 2):
            async with shared.running(total) as pods:
                removed = shared.world.rate_limits.limits.popitem()
                for pod in [*pods, *pods]:
                    await pod.poll("discovery")
                shared.world.rate_limits.limits |= [removed]
            for index in range(total):
                keys = [(limit, TargetKey.of("second", "shield_zone", str(zone))) for limit, zone in limits]
                owned_here = {limit for limit, key in keys if Shard(index, total).owns(key)}
                assert rows_of(shared, index, "shield_rate_limits", "second") == owned_here


async def test_polls_series_and_budgets_follow_the_shards_that_an_exporter_holds(tmp_path: Path) -> None:
    more: dict[str, Any] = {"state": {"url": "postgresql://127.0.0.1:1/none"}, "shard": {"index": "lease", "total": 2}}
    async with (
        sharded_daemons(tmp_path, zones=6, **more) as shared,
        running_daemon(partial(shared.settings, 0, 2)) as pod,
    ):
        for epochs in dict[int, int](), {0: 1}, {0: 1, 1: 4}, {1: 4}, {1: 5}:
            await pod.daemon.polling.hold(epochs, {}, pod.daemon.renderer.render)
            await pod.settle()
            held = Share(frozenset(epochs), 2)
            accounts = {name for name in ("main", "second") if held.owns(TargetKey.of(name, "account", name))}
            assert set(await pod.samples("edge_up", "account")) == accounts
            zones = {str(zone) for index in epochs for zone in owned(shared, index, 2)}
            window = 'edge_dns_window_queries{account="main"'
            assert {one.split('"')[5] for one in await series_of(pod) if one.startswith(window)} == zones
            assert await pod.samples("edge_exporter_shard_info", "shard") == dict.fromkeys(map(str, epochs), 1.0)
            known = {str(shard): epoch for shard, epoch in epochs.items()}
            assert await pod.samples("edge_exporter_shard_epoch", "shard") == known
            budgets = await pod.samples("edge_api_budget_requests_per_second", "account")
            assert budgets == dict.fromkeys(("main", "second"), 5000.0 * max(1, len(epochs)))
        assert pod.daemon.shards.database is not None
        leases = pod.daemon.shards.database.leases
        compared, shared.more = leases.configuration, {**more, "databases": []}
        assert await pod.daemon.reload() == ()
        assert leases.configuration != compared, "other exporters compare theirs with the new one"
