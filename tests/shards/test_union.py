"""All shards together poll every target, and no target is polled by two of them."""

from collections import Counter
from pathlib import Path

import pytest

from exporter.targets.target import TargetKey
from tests.counters.sandboxed_daemons import RunningDaemon
from tests.shards.sharded_daemons import MEANWHILE, series_of, sharded_daemons


def lists_of(pod: RunningDaemon) -> tuple[list[str], list[str]]:
    """Return the collectors that poll the first account, and those of them that publish something of it."""
    account = TargetKey.of("main", "account", "main")
    polling = sorted(key.collector for key in pod.daemon.work.schedule.polled() if key.target == account)
    return polling, sorted(key.collector for key, _ in pod.daemon.work.store.statuses() if key.target == account)


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
