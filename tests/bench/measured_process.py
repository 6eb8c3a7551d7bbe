"""Starts processes that are measured, measures them from outside, and stops them."""

import http.client
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.exporter_parts import account_at, only
from tests.ports import free_port
from tests.waiting import wait_until

PATIENCE = 900.0
wait = partial(wait_until, step=0.2, patience=PATIENCE)
MIB = 2**20
_TICKS = os.sysconf("SC_CLK_TCK")
_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 2048; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000; types {{ }}
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  map $connection_requests $turn {{ ~(\\d\\d)$ $1; default 00; }}
  server {{ listen 127.0.0.1:{port}; root {folder}; {served} }}
}}
"""


@dataclass(frozen=True, slots=True)
class Child:
    """A running process, and the URL that it serves."""

    pid: int
    url: str


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used, with its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def started(command: Sequence[object], url: str, path: str = "") -> Iterator[Child]:
    """Run a command until the block ends; the block begins when a path of its URL is answered."""
    words, silent = [*map(str, command)], subprocess.DEVNULL
    with subprocess.Popen(words, stdout=silent, stderr=silent) as process:

        def serves() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(words)} ended before it served")
            with suppress(OSError, http.client.HTTPException):
                get(url + path)
                return True
            return False

        try:
            wait(serves, url, step=0.005)
            yield Child(process.pid, url)
        finally:
            process.terminate()


def own(module: str, *arguments: object) -> tuple[object, ...]:
    """Return the command that runs a module."""
    return sys.executable, "-m", module, *arguments


def nginx(folder: Path, served: str, path: str) -> AbstractContextManager[Child]:
    """Run an nginx that serves the files of a folder; the block begins when a path is answered."""
    port, configuration = free_port(), folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, port=port, served=served))
    return started(("nginx", "-c", configuration), f"http://127.0.0.1:{port}", path)


def get(url: str) -> bytes:
    """Return the body of an answer."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - our own loopback
        return bytes(answer.read())


def sum_of(url: str, family: str, **labels: str) -> float:
    """Return the sum of a family's samples with these labels, from an exporter's `/metrics`."""
    marks = [f'{name}="{value}"' for name, value in labels.items()]
    lines = get(f"{url}/metrics?name[]={family}").decode().splitlines()
    own_lines = (line for line in lines if line.startswith((family + "{", family + " ")))
    return sum(float(line.rpartition(" ")[2]) for line in own_lines if all(mark in line for mark in marks))


def polling_zones(
    platform: str, zones: Mapping[str, object], rate: float, interval: float, state: Mapping[str, str], **more: object
) -> dict[str, Any]:
    """Return the settings of an exporter with one account that polls the statistics of zones, and nothing else."""
    resources = {"dns_zones": zones, "scripts": {"discover": False}, "shield_zones": {"discover": False}}
    account = account_at(platform, budget={"requests_per_second": rate, "max_in_flight": 64}, **resources)
    collectors = only("dns_statistics") | {"dns_statistics": {"interval": f"{interval:g}s"}}
    web = {"listen": "127.0.0.1:0"}
    return {"accounts": [account], "collectors": collectors, "state": state, "web": web, **more}
