"""How often an account is listed: by its owner, by the other shards, and with a budget that is far too small."""

from pathlib import Path

import pytest

from exporter.targets.target import Target
from tests.shards.sharded_daemons import sharded_daemons


@pytest.mark.parametrize(("total", "times"), [(2, 2), (3, 3)])
async def test_other_shards_list_an_account_less_often(tmp_path: Path, total: int, times: int) -> None:
    async with sharded_daemons(tmp_path) as shared, shared.running(total) as pods:
        account = Target("main", "account", "main")
        intervals = []
        for pod in pods:
            schedule = pod.daemon.schedule
            (target,) = (known for known in pod.daemon.shards.registry.targets("account") if known == account)
            intervals.append((target.scouted, schedule.intervals.configured(schedule.plans["discovery"], target)))
            assert schedule.intervals.configured(schedule.plans["shield_zones"], target) == 300
        assert sorted(intervals) == [(False, 600.0), *[(True, 600.0 * times)] * (total - 1)]


async def test_a_budget_that_is_far_too_small_stretches_polls_but_hardly_discovery(tmp_path: Path) -> None:
    async with (
        sharded_daemons(tmp_path, collectors={"dns_statistics": {"interval": "1s"}}) as shared,
        shared.running(1) as (pod,),
    ):
        schedule = pod.daemon.schedule
        schedule.accounts["main"].client.rate_limiter.rate = 0.1
        schedule.accounts["main"].capacity.rate = 0.1
        (zone, account) = (Target("main", "dns_zone", "101"), Target("main", "account", "main"))
        assert schedule.intervals.effective(schedule.plans["dns_statistics"], zone) > 100
        assert schedule.intervals.effective(schedule.plans["discovery"], account) == 1800
        assert schedule.intervals.slowest("discovery") == 1800
