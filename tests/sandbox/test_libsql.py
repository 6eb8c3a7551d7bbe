"""The sandbox's database beside a real libSQL server, and both with real clients and with the exporter."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from exporter.sandbox.keys import DATABASE_TOKEN_FULL
from tests.bench.measured_process import started
from tests.deploy.files import run
from tests.golden import assert_golden
from tests.ports import free_port
from tests.real_parts import find, find_node_packages
from tests.sandbox.test_answers import GROUPS, ask

# These depend on the server's build and on the machine.
_OWN = frozenset({"query_duration_ms", "rows_read", "rows_written", "replication_index", "message", "decltype", "code"})
_CLIENTS = Path(__file__).with_name("clients.mjs")
_PYTHON_CLIENT = """\
import sys, libsql
connection = libsql.connect(database=sys.argv[1], auth_token=sys.argv[2])
connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
connection.execute("INSERT INTO notes (text) VALUES (?)", ("one",))
connection.commit()
print(connection.execute("SELECT id, text, ? FROM notes", (1.5,)).fetchall())
"""
# One of the queries reads, and one would write.
_QUERIES = """\
databases:
  - name: orders
    url: {url}
    auth_token: {token}
    queries:
      - {{name: kinds, sql: "SELECT 'a' AS kind, 2 AS value UNION SELECT 'b', 1.5", labels: [kind]}}
      - {{name: written, sql: "WITH x AS (SELECT 1 AS value) DELETE FROM t RETURNING id AS value"}}
"""


@pytest.fixture
def libsql(tmp_path: Path) -> Iterator[str]:
    """The address of a real libSQL server without authentication."""
    address = f"127.0.0.1:{free_port()}"
    command = (find("sqld"), "-d", tmp_path / "data", "--http-listen-addr", address)
    with started(command, f"http://{address}", "/health") as running:
        yield running.url


def comparable(answer: httpx.Response) -> object:
    """Return what both servers must answer: the status, and of a success the fields that no machine determines."""
    if answer.status_code != 200:
        return answer.status_code
    lines = [json.loads(line) for line in answer.text.splitlines()]
    return [_without_own(line) for line in lines if line.get("type") != "replication_index"]


def _without_own(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_own(inner) for inner in value]
    if isinstance(value, dict):
        kept = {key: _without_own(inner) for key, inner in value.items() if key not in _OWN}
        return kept | ({"baton": kept["baton"] is not None} if "baton" in kept else {})
    return value


async def test_it_answers_as_a_libsql_server_does(sandbox_url: str, libsql: str) -> None:
    async with (
        httpx.AsyncClient(base_url=libsql, timeout=60) as theirs,
        httpx.AsyncClient(base_url=sandbox_url, timeout=60) as ours,
    ):
        for request in GROUPS["as a libSQL server answers"]:
            expected = comparable(await ask(theirs, request))
            assert comparable(await ask(ours, request)) == expected, request


async def test_the_clients_for_javascript_get_the_same_answers(sandbox_url: str, libsql: str) -> None:
    node = find_node_packages("@libsql/client@0.18.0", "@tursodatabase/serverless@1.4.0")
    for url in (libsql, sandbox_url):
        assert_golden(await _output(node, str(_CLIENTS), url, DATABASE_TOKEN_FULL), _CLIENTS.with_suffix(".txt"))


async def test_the_exporter_reads_both_and_writes_in_neither(sandbox_url: str, libsql: str, tmp_path: Path) -> None:
    configuration = tmp_path / "exporter.yml"
    for url in (libsql, sandbox_url):
        configuration.write_text(_QUERIES.format(url=url, token=DATABASE_TOKEN_FULL), encoding="utf-8")
        table = await _output(sys.executable, "-m", "exporter", "check", "--config", str(configuration), code=1)
        assert "query/orders/kinds    ok       4 families\n" in table
        assert "query/orders/written  failing  the query must only read; it is not executed" in table


async def test_the_client_for_python_works_with_it(sandbox_url: str) -> None:
    printed = await _output(sys.executable, "-c", _PYTHON_CLIENT, sandbox_url, DATABASE_TOKEN_FULL)
    assert printed == "[(1, 'one', 1.5)]\n"


async def _output(*command: str, code: int = 0) -> str:
    ended = await asyncio.to_thread(run, *command)
    assert ended.returncode == code, ended.stderr
    return ended.stdout
