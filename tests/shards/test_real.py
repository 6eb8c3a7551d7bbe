"""Four shards as separate processes, one of which is killed, scraped by a real Prometheus."""

import asyncio
import signal
import time
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.backfill.backfill_setup import grown
from tests.counters.process import Exporter, exporter_running
from tests.exporter_parts import account_at
from tests.ports import free_port
from tests.real_parts import prometheus_running, scraping
from tests.shards.sharded_daemons import sharded_daemons

pytestmark = pytest.mark.real("prometheus")
TOTAL = 4
# What the documentation of several instances asks for: gauges and levels by max, counters by rate, max, sum.
LEVEL = "sum(max without (instance, pod) (edge_dns_queries_total))"


async def test_sums_stay_exact_while_one_of_four_is_killed_and_comes_back(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, zones=60, shield_zones=0) as shared:
        dns = shared.world.dns
        zones = list(dns.zones)
        ports = [free_port() for _ in range(TOTAL)]

        def shard(index: int) -> AbstractContextManager[Exporter]:
            folder = tmp_path / f"shard-{index}"
            folder.mkdir(exist_ok=True)
            settings = {
                "accounts": [account_at(shared.url)],
                "collectors": {"dns_statistics": {"interval": "1s"}},
                "state": {"path": str(folder / "state.db")},
                "web": {"listen": f"127.0.0.1:{ports[index]}"},
                "shard": {"index": index, "total": TOTAL},
            }
            return exporter_running(settings, folder)

        with ExitStack() as stack:
            starting = (asyncio.to_thread(stack.enter_context, shard(index)) for index in range(TOTAL))
            pods = await asyncio.gather(*starting)
            targets = [f"127.0.0.1:{port}" for port in ports]
            server = stack.enter_context(prometheus_running(tmp_path, scraping(*targets)))
            await server.until("count(edge_dns_queries_total)", len(zones))
            await server.until(LEVEL, 0)
            today = datetime.fromtimestamp(shared.world.clock.now(), UTC).date()
            start = {zone: dns.true_queries(zone, today) for zone in zones}

            def more(each: int) -> float:
                for zone in zones:
                    dns.add_queries(zone, each + zone)
                return float(sum(dns.true_queries(zone, today) - start[zone] for zone in zones))

            await server.until(LEVEL, more(1000))
            await asyncio.to_thread(pods[1].end, signal.SIGKILL)
            more(50)
            await server.until("sum(up)", TOTAL - 1)
            more(7)
            await asyncio.to_thread(stack.enter_context, shard(1))
            await server.until("sum(up)", TOTAL)
            total = more(300)
            await server.until(LEVEL, total)

            counted: dict[str, float] = {}
            for series in server.ask("edge_dns_queries_total[10m]", time=time.time()):
                zone, values = series["metric"]["zone_id"], series["values"]
                counted[zone] = max(counted.get(zone, 0.0), grown([(float(at), float(value)) for at, value in values]))
            assert counted == {str(zone): dns.true_queries(zone, today) - start[zone] for zone in zones}
            by_rate = "sum(max without (instance, pod) (rate(edge_dns_queries_total[10m]))) * 600"
            (answer,) = server.ask(by_rate)
            assert float(answer["value"][1]) == pytest.approx(total, rel=0.25), "rate extrapolates to its window"
            shards = server.ask("count by (shards) (edge_exporter_shard_info)")
            assert [(one["metric"]["shards"], one["value"][1]) for one in shards] == [(str(TOTAL), str(TOTAL))]
