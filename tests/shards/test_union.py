"""All shards together poll every target, and no target is polled by two of them."""

from collections import Counter
from pathlib import Path

import pytest

from exporter.settings.model import Settings
from exporter.targets.target import PollKey
from tests.counters.sandboxed_daemons import running_daemon
from tests.exporter_parts import account_at
from tests.shards.sharded_daemons import MEANWHILE, series_of, sharded_daemons
from tests.waiting import until


@pytest.mark.parametrize("total", [2, 3])
async def test_all_shards_serve_together_what_one_exporter_serves(tmp_path: Path, total: int) -> None:
    (tmp_path / "whole").mkdir()
    async with sharded_daemons(tmp_path) as shared:
        async with shared.running(total) as pods:
            parts = [await series_of(pod) for pod in pods]
        shared.folder = tmp_path / "whole"
        async with shared.running(1) as (pod,):
            alone = await series_of(pod)
    assert all(parts), "each has its share"
    counted = Counter(series for part in parts for series in part)
    assert [series for series, times in counted.items() if times > 1] == []
    assert set(counted) == set(alone)
    differing = {series for part in parts for series, value in part.items() if value != alone[series]}
    assert [series for series in differing if not series.partition("{")[0].endswith(MEANWHILE)] == []


async def test_a_rate_limit_whose_shield_zone_is_in_another_shard_now_leaves_the_state(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path) as shared:

        def settings() -> Settings:
            limit = {"id": 3, "shield_zone_id": zone}
            shared.more = {"accounts": [account_at(shared.url, rate_limits=[limit])]}
            return shared.settings(0, 2)

        zone = 2
        async with running_daemon(settings) as pod:
            key, rows = PollKey.of("shield_rate_limits", "main", "rate_limit", "3"), pod.daemon.work.ledger.remembered()
            await until(lambda: key in rows)
            # Of two shards, shield zone 2 belongs to the first and shield zone 1 to the second.
            zone = 1
            await pod.client.post("/-/reload")
            await until(lambda: key not in rows)
