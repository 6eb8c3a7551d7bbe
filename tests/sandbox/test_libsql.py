"""The sandbox's database, used by real clients of libSQL."""

import asyncio
import subprocess
import sys
from pathlib import Path

from exporter.sandbox.keys import DATABASE_TOKEN_FULL
from exporter.sandbox.sandbox_server import SandboxServer
from tests.golden import assert_golden
from tests.real_parts import find_node_packages

_CLIENTS = Path(__file__).with_name("clients.mjs")
_PYTHON_CLIENT = """\
import sys, libsql
connection = libsql.connect(database=sys.argv[1], auth_token=sys.argv[2])
connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
connection.execute("INSERT INTO notes (text) VALUES (?)", ("one",))
connection.commit()
print(connection.execute("SELECT id, text, ? FROM notes", (1.5,)).fetchall())
"""


async def test_the_clients_for_javascript_get_the_answers_of_a_libsql_server(server: SandboxServer) -> None:
    """`clients.txt` has what they print; with a libSQL server (sqld 0.24.1) it was the same."""
    node = find_node_packages("@libsql/client@0.18.0", "@tursodatabase/serverless@1.4.0")
    printed = await _output(node, str(_CLIENTS), server.url, DATABASE_TOKEN_FULL)
    assert_golden(printed, _CLIENTS.with_suffix(".txt"))


async def test_the_client_for_python_works_with_it(server: SandboxServer) -> None:
    printed = await _output(sys.executable, "-c", _PYTHON_CLIENT, server.url, DATABASE_TOKEN_FULL)
    assert printed == "[(1, 'one', 1.5)]\n"


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()
