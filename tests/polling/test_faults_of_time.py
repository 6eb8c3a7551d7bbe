"""The exporter as a process while its platform grows, its platform is slow, or the exporter itself is suspended."""

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

import pytest

from tests.counters.process import Exporter, exporter_running
from tests.exporter_parts import account_at, only
from tests.polling.platform import Platform, running
from tests.waiting import wait_until


def exporter(
    platform: Platform, folder: Path, interval: str, budget: Mapping[str, int]
) -> AbstractContextManager[Exporter]:
    """Run an exporter that polls the platform's zones."""
    off, polled = {"discover": False}, {"interval": interval}
    settings = {
        "accounts": [account_at(platform.url, budget=budget, scripts=off, shield_zones=off)],
        "collectors": {**only(), "dns_statistics": polled, "discovery": polled},
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": None},
    }
    return exporter_running(settings, folder)


@pytest.fixture
def platform() -> Iterator[Platform]:
    with running() as made:
        yield made


def test_after_a_stop_of_the_process_calls_go_out_at_the_rate_of_the_budget(platform: Platform, tmp_path: Path) -> None:
    platform.zones = range(1, 501)
    with exporter(platform, tmp_path, "10s", {"requests_per_second": 5, "max_in_flight": 32}) as it:
        wait_until(lambda: platform.count("/dnszone/") >= 5)
        it.send(signal.SIGSTOP)
        time.sleep(5)
        before = len(platform.moments())
        it.send(signal.SIGCONT)
        wait_until(lambda: len(platform.moments()) > before + 20)
    first, *later = platform.moments()[before:]
    # 5 a second and a little; before slots were checked again on waking, those of the whole stop went out at once.
    assert sum(moment < first + 1 for moment in later) <= 15


def test_healthy_zones_keep_their_series_while_many_new_ones_are_polled_first(
    platform: Platform, tmp_path: Path
) -> None:
    with exporter(platform, tmp_path, "2s", {"requests_per_second": 25, "max_in_flight": 8}) as it:
        wait_until(lambda: set(it.samples("edge_dns_window_queries", "zone_id")) == {"1", "2", "3"})
        platform.zones = range(1, 254)
        wait_until(lambda: platform.count("/dnszone/250/") + platform.count("/dnszone/100/") > 0)
        missing, seen = 0, set[str]()
        while len(seen) < 253:
            seen = set(it.samples("edge_dns_window_queries", "zone_id"))
            missing += not seen >= {"1", "2", "3"}
            assert [target for target, up in it.samples("edge_target_up", "target").items() if not up] == []
            time.sleep(0.5)
        assert it.samples("edge_exporter_collector_interval_seconds", "collector")["dns_statistics"] > 10
    assert missing == 0


def test_a_queries_duration_is_not_the_wait_for_the_budget(platform: Platform, tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(8)]
    queries = [{"name": name, "sql": "SELECT 1 AS value", "help": "One.", "interval": "1h"} for name in names]
    budget = {"requests_per_second": 4, "max_in_flight": 8}
    database = {"name": "orders", "url": platform.url, "auth_token": "any", "budget": budget, "queries": queries}
    settings = {"databases": [database], "web": {"listen": "127.0.0.1:0"}, "state": {"path": None}}
    with exporter_running(settings, tmp_path) as it:
        wait_until(lambda: len(it.samples("edge_database_query_duration_seconds", "query")) == len(names))
        durations = it.samples("edge_database_query_duration_seconds", "query")
        throttled = it.samples("edge_api_throttled_seconds_total", "account")["database:orders"]
    # Each waits for its turn, the last ones for seconds. On a slow machine one or the other query may take as long.
    assert throttled > 5
    assert median(durations.values()) < throttled / len(names) / 2
