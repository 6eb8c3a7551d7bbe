"""While the platform sends very long answers, scrapes are served and other targets are polled."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.counters.process import Exporter, exporter_running
from tests.http_answers import answering
from tests.polling.platform import Platform
from tests.waiting import PATIENCE

KEY = "0123456789abcdef-not-a-key"


@dataclass
class LongAnswers(Platform):
    """Answers a query of orders with many rows.

    Attributes:
        rows: the number of the rows.
    """

    rows: int = 1

    def __post_init__(self) -> None:
        cells = [[{"type": "text", "value": f"region-{row}"}, _integer(row)] for row in range(self.rows)]
        columns = [{"name": name, "decltype": None} for name in ("region", "value")]
        rows = {"cols": columns, "rows": cells, "affected_row_count": 0, "last_insert_rowid": None}
        results = [{"type": "ok", "response": one} for one in ({"type": "execute", "result": rows}, {"type": "close"})]
        answer = {"baton": None, "base_url": None, "results": results}
        self.long_answer = json.dumps(answer, separators=(",", ":")).encode()

    def respond(self, request: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, bytes]:
        """Answer a request."""
        # A small buffer: what the client does not take stays here.
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        is_long = b"FROM orders" in sent and b"describe" not in sent
        return (200, self.long_answer) if is_long else super().respond(request, sent)


def _integer(value: int) -> dict[str, str]:
    return {"type": "integer", "value": str(value)}


@dataclass
class HostileRun:
    """The platform, and the daemon."""

    platform: LongAnswers
    daemon: Exporter

    def sample(self, family: str) -> float | None:
        """Scrape one family, and return the sum of its samples; None if there is none."""
        found = text_string_to_metric_families(self.daemon.text(f"/metrics?name[]={family}"))
        samples = [sample.value for one in found for sample in one.samples if sample.name == family]
        return sum(samples) if samples else None

    def target(self, key: str) -> dict[str, str]:
        """Return the status of a target, once it has one."""
        rows = json.loads(self.daemon.text("/api/v1/targets"))["targets"]
        found: dict[str, str] = next((row for row in rows if row["target"] == key), {"state": "pending"})
        return found


@contextmanager
def hostile_run(folder: Path, platform: LongAnswers, settings: dict[str, Any]) -> Iterator[HostileRun]:
    """Run a platform and a daemon; the settings lack the platform's address and the file of its key."""
    key = folder / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    with answering(platform.respond) as url:
        for account in settings.get("accounts", []):
            account |= {"base_url": url, "api_key_file": str(key)}
        for database in settings.get("databases", []):
            database |= {"url": url, "auth_token_file": str(key)}
        own = {"web": {"listen": "127.0.0.1:0"}, "state": {"path": None}}
        with exporter_running({**settings, **own}, folder) as daemon:
            yield HostileRun(platform, daemon)


def until(is_so: Callable[[], bool]) -> int:
    """Repeat a check until it is true, and return the number of failed checks."""
    ends = time.monotonic() + PATIENCE
    times = 0
    while not is_so():
        assert time.monotonic() < ends, "it never was"
        times += 1
        time.sleep(0.01)
    return times


def orders(most: int, interval: str = "1s") -> dict[str, Any]:
    """Return settings of a database with a query of many rows."""
    sql = "SELECT region, value FROM orders"
    query = {"name": "orders", "sql": sql, "labels": ["region"], "max_rows": most, "interval": interval}
    return {"databases": [{"name": "shop", "timeout": "600s", "queries": [query]}]}


def zones(include: str, **collectors: object) -> dict[str, Any]:
    """Return settings of an account whose zones are selected by a pattern."""
    off, budget = {"discover": False}, {"requests_per_second": 1000}
    account = {"name": "main", "timeout": "600s", "budget": budget, "scripts": off, "shield_zones": off}
    account["dns_zones"] = {"discover": True, "include": [include]}
    return {"accounts": [account], "collectors": {"dns_record_scans": {"enabled": False}, **collectors}}


def test_a_query_with_too_many_rows_fails(tmp_path: Path) -> None:
    """Its answer is 14 MiB."""
    with hostile_run(tmp_path, LongAnswers(rows=200_000), orders(1000)) as run:
        until(lambda: run.target("query/shop/orders")["state"] != "pending")
        row = run.target("query/shop/orders")
        assert (row["reason"], row["message"]) == ("wrong_shape", "the query returned more rows than max_rows (1000)")
        assert run.daemon.end() == 0


def test_a_hostile_pattern_and_name_do_not_block_the_loop(tmp_path: Path) -> None:
    with hostile_run(tmp_path, LongAnswers(name="a" * 60 + "{}!"), zones("(a+)+$")) as run:
        until(lambda: run.sample("edge_resources") == 3)
        assert run.daemon.end() == 0


def test_a_key_file_that_becomes_a_pipe_does_not_block_the_loop(tmp_path: Path) -> None:
    with hostile_run(tmp_path, LongAnswers(range(1, 2)), zones(".", dns_statistics={"interval": "1s"})) as run:
        until(lambda: run.sample("edge_dns_window_queries") == 7)
        (tmp_path / "key").unlink()
        os.mkfifo(tmp_path / "key")
        until(lambda: run.target("dns_zone/1")["reason"] == "credential")
        assert "is a pipe" in run.target("dns_zone/1")["message"]
        assert run.daemon.end() == 0


def test_a_process_substitution_is_refused_with_its_reason(tmp_path: Path) -> None:
    config = tmp_path / "config.yml"
    config.write_text("accounts: [{name: main, base_url: 'https://api.example', api_key_file: /dev/fd/FD}]\n")
    line = f'exec {sys.executable} -m exporter check --offline --config <(sed "s/FD/9/" {config}) 9< <(echo secret)'
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "is a pipe, such as '<(command)' makes" in ended.stderr
    line = f"exec {sys.executable} -m exporter check --offline --config {config} 9< <(echo secret)"
    config.write_text(config.read_text().replace("FD", "9"))
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert "config.yml:1: accounts[0].api_key_file: /dev/fd/9 is a pipe" in ended.stderr
