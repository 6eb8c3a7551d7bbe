"""All shards together poll every target, and no target is polled by two of them."""

from collections import Counter
from pathlib import Path

import pytest

from tests.shards.sharded_daemons import MEANWHILE, series_of, sharded_daemons


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
