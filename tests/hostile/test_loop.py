"""While the platform sends very long answers, scrapes are served and other targets are polled."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.hostile.platform import hostile_run, until

# While the loop stands still, one scrape waits; more than these show that it does not.
SCRAPES = 30


def database(most: int, interval: str = "1s") -> Callable[[str, str], Mapping[str, Any]]:
    """Return settings of a database with a query of many rows."""
    sql = "SELECT region, value FROM orders"
    query = {"name": "orders", "sql": sql, "labels": ["region"], "max_rows": most, "interval": interval}
    return lambda url, key: {
        "databases": [{"name": "shop", "url": url, "auth_token_file": key, "queries": [query]}],
    }


def account(include: str, **collectors: object) -> Callable[[str, str], Mapping[str, Any]]:
    """Return settings of an account whose zones are selected by a pattern."""
    budget = {"requests_per_second": 1000}
    others = {"scripts": {"discover": False}, "shield_zones": {"discover": False}}
    return lambda url, key: {
        "accounts": [
            {"name": "main", "base_url": url, "api_key_file": key, "budget": budget, **others}
            | {"dns_zones": {"discover": True, "include": [include]}}
        ],
        "collectors": {"dns_record_scans": {"enabled": False}, **collectors},
    }


def test_a_query_with_too_many_rows_is_read_no_further(tmp_path: Path) -> None:
    """The connection is closed after the first rows of 14 MiB."""
    with hostile_run(tmp_path, database(1000), rows=200_000) as run:
        until(lambda: run.events["refused"] >= 2)
        assert run.events["sent"] == 0
        until(lambda: run.target("query/shop/orders")["state"] != "pending")
        row = run.target("query/shop/orders")
        assert (row["reason"], row["message"]) == ("wrong_shape", "the query returned more rows than max_rows (1000)")
        assert run.daemon.end() == 0


def test_scrapes_go_on_while_many_rows_are_parsed(tmp_path: Path) -> None:
    with hostile_run(tmp_path, database(1_000_000, "1h"), rows=75_000) as run:
        scrapes = until(lambda: run.sample("edge_database_query_rows") == 75_000)
        assert run.events["sent"] >= 1
        assert scrapes > SCRAPES


def test_scrapes_go_on_while_many_zones_are_taken_over(tmp_path: Path) -> None:
    with hostile_run(tmp_path, account("."), zones=50_000) as run:
        until(lambda: run.events["last page"] > 0)
        scrapes = until(lambda: run.sample("edge_resources") == 50_000)
        assert scrapes > SCRAPES


def test_a_hostile_pattern_and_name_do_not_block_the_loop(tmp_path: Path) -> None:
    with hostile_run(tmp_path, account("(a+)+$"), zones=3, name="a" * 60 + "{}!") as run:
        until(lambda: run.sample("edge_resources") == 3)
        assert run.daemon.end() == 0


def test_a_key_file_that_becomes_a_pipe_does_not_block_the_loop(tmp_path: Path) -> None:
    with hostile_run(tmp_path, account(".", dns_statistics={"interval": "1s"}), zones=1) as run:
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
