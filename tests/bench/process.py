"""Starts processes that are measured, measures them from outside, and stops them."""

import http.client
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from exporter.sandbox import keys
from tests.ports import free_port
from tests.waiting import wait_until

PATIENCE = 900.0
STOP_SECONDS = 30.0
wait = partial(wait_until, step=0.2, patience=PATIENCE)
MIB = 2**20
_TICKS = os.sysconf("SC_CLK_TCK")
_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000; types {{ }}
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  map $connection_requests $turn {{ ~(\\d\\d?)$ $1; }}
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


def memory(pid: int) -> tuple[int, int]:
    """Return the resident memory of a process in bytes, and the highest value so far."""
    found = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text()))
    return int(found["VmRSS"]) * 1024, int(found["VmHWM"]) * 1024


@contextmanager
def started(command: Sequence[str], url: str = "") -> Iterator[Child]:
    """Run a command until the block ends, which begins when it serves.

    Args:
        command: the program and its arguments.
        url: what must answer; if empty, the command prints its URL as JSON in its first line.
    """
    popen = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if url else None, text=True, bufsize=1
    )
    try:
        if url:
            wait(lambda: popen.poll() is not None or _answers(url), url, step=0.005)
        else:
            assert popen.stdout is not None
            url = json.loads(popen.stdout.readline() or "{}").get("url", "")
        if popen.poll() is not None or not url:
            raise RuntimeError(f"{' '.join(command)} ended before it served")
        yield Child(popen.pid, url)
    finally:
        popen.terminate()
        try:
            popen.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.communicate()


def own(module: str, *arguments: object) -> list[str]:
    """Return the command that runs a module."""
    return [sys.executable, "-m", module, *map(str, arguments)]


@contextmanager
def nginx(folder: Path, path: str, served: str) -> Iterator[Child]:
    """Run an nginx that serves the files of a folder; the block begins when a path is answered."""
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, port=port, served=served))
    with started(["nginx", "-c", str(configuration)], f"http://127.0.0.1:{port}{path}") as child:
        yield child


def _answers(url: str) -> bool:
    try:
        get(url)
    except (OSError, http.client.HTTPException):
        return False
    return True


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
    platform: str,
    zones: Mapping[str, object],
    rate: float,
    collectors: Mapping[str, object],
    state: Mapping[str, str],
    **more: object,
) -> dict[str, Any]:
    """Return the settings of an exporter with one account that polls the statistics of zones, and little else."""
    account = {
        "name": "main",
        "base_url": platform,
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": rate, "max_in_flight": 64},
        "dns_zones": zones,
        **{kind: {"discover": False} for kind in ("scripts", "shield_zones")},
    }
    polled = {"accounts": [account], "collectors": collectors, "state": state}
    return {**polled, "web": {"listen": "127.0.0.1:0"}, **more}
