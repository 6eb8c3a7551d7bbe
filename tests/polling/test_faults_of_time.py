"""The exporter as a process while its platform grows, its platform is slow, or the exporter itself is suspended."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from textwrap import indent

import httpx
import pytest

from tests.commands.shell import Process, process
from tests.counters.process import samples_of
from tests.polling.platform import Platform, running
from tests.waiting import PATIENCE, wait_until

ACCOUNT = """\
accounts:
  - name: main
    base_url: {url}
    api_key: any
    budget: {budget}
    scripts: {{discover: false}}
    shield_zones: {{discover: false}}
collectors:
  dns_statistics: {{interval: {interval}}}
  dns_record_scans: {{enabled: false}}
  shield_waf_plans: {{enabled: false}}
  discovery: {{interval: {interval}}}
web: {{listen: "127.0.0.1:0"}}
state: {{path: null}}
"""

DATABASE = """\
databases:
  - name: orders
    url: {url}
    auth_token: any
    budget: {{requests_per_second: 4, max_in_flight: 8}}
    queries:
{queries}
web: {{listen: "127.0.0.1:0"}}
state: {{path: null}}
"""


class Exporter:
    """A running exporter, read from outside."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self._url = url

    def samples(self, name: str, label: str) -> dict[str, float]:
        """Return the values of a family on `/metrics`, by one of its labels."""
        return samples_of(httpx.get(self._url, timeout=PATIENCE, trust_env=False).text, name, label)


@contextmanager
def exporter(configuration: str, folder: Path) -> Iterator[Exporter]:
    """Run an exporter in a separate process."""
    (folder / "config.yml").write_text(configuration)
    words = ("run", "--config", str(folder / "config.yml"), "--log.format", "json")
    with process(*words, cwd=folder) as started:
        yield Exporter(started, started.read_log("serving")["url"])


@pytest.fixture
def platform() -> Iterator[Platform]:
    with running() as made:
        yield made


def test_after_a_stop_of_the_process_calls_go_out_at_the_rate_of_the_budget(platform: Platform, tmp_path: Path) -> None:
    platform.zones = range(1, 501)
    budget = "{requests_per_second: 5, max_in_flight: 32}"
    with exporter(ACCOUNT.format(url=platform.url, budget=budget, interval="10s"), tmp_path) as it:
        wait_until(lambda: platform.count("/dnszone/") >= 5)
        it.process.send(signal.SIGSTOP)
        time.sleep(5)
        before = len(platform.moments())
        it.process.send(signal.SIGCONT)
        wait_until(lambda: len(platform.moments()) > before + 20)
    first, *later = platform.moments()[before:]
    # 5 a second and a little; before slots were checked again on waking, those of the whole stop went out at once.
    assert sum(moment < first + 1 for moment in later) <= 15


def test_healthy_zones_keep_their_series_while_many_new_ones_are_polled_first(
    platform: Platform, tmp_path: Path
) -> None:
    budget = "{requests_per_second: 25, max_in_flight: 8}"
    with exporter(ACCOUNT.format(url=platform.url, budget=budget, interval="2s"), tmp_path) as it:
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
    queries = "\n".join(f"- {{name: {name}, sql: SELECT 1 AS value, help: One., interval: 1h}}" for name in names)
    with exporter(DATABASE.format(url=platform.url, queries=indent(queries, "      ")), tmp_path) as it:
        wait_until(lambda: len(it.samples("edge_database_query_duration_seconds", "query")) == len(names))
        durations = it.samples("edge_database_query_duration_seconds", "query")
        throttled = it.samples("edge_api_throttled_seconds_total", "account")["database:orders"]
    # Each waits for its turn, the last ones for seconds. On a slow machine one or the other query may take as long.
    assert throttled > 10
    assert median(durations.values()) < throttled / len(names) / 2
