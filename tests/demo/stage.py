"""The demo as a user starts it, and real parts beside it."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

REPOSITORY = Path(__file__).parents[2]
SHIPPED = REPOSITORY / "deploy"
# Families of collectors whose first round ends late.
LAST = ("edge_script_info", "edge_shield_bot_detection_sensitivity", "edge_resources", "edge_database_orders_open")


def free_port() -> int:
    """A port of the loopback interface that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Served:
    """Something that answers HTTP."""

    url: str

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Ask for a path."""
        return httpx.get(self.url + path, headers=headers, timeout=10, trust_env=False)

    def post(self, path: str, /, **told: Any) -> None:
        """Send a JSON object, which is to be accepted."""
        answer = httpx.post(self.url + path, json=told, timeout=10, trust_env=False)
        assert answer.is_success, answer.text

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Ask a Prometheus for what an expression gives now."""
        answer = httpx.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=10, trust_env=False)
        result: list[dict[str, Any]] = answer.json()["data"]["result"]
        return result

    def wait(self, path: str, status: int = 200, seconds: float = 60) -> None:
        """Wait until a path answers with a status."""

        def is_there() -> bool:
            try:
                return self.get(path).status_code == status
            except httpx.HTTPError:
                return False

        until(is_there, seconds, f"{self.url}{path} to answer with {status}")


@dataclass(frozen=True)
class Demo(Served):
    """A running demo and the address of its sandbox."""

    sandbox: Served


def until(condition: Callable[[], bool], seconds: float, awaited: str) -> None:
    """Wait until something is so, and fail where it does not come."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"waited {seconds} s for {awaited}"
        time.sleep(0.1)


@contextmanager
def running(*command: str) -> Iterator[None]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)


@contextmanager
def demo_running() -> Iterator[Demo]:
    """The demo, ready, with everything polled once."""
    port, sandbox = free_port(), free_port()
    demo = Demo(f"http://127.0.0.1:{port}", Served(f"http://127.0.0.1:{sandbox}"))
    where = ("--listen", f"127.0.0.1:{port}", "--sandbox-port", str(sandbox))
    with running(sys.executable, "-m", "exporter", "demo", *where):
        demo.wait("/-/ready")

        def is_polled() -> bool:
            text = demo.get("/metrics").text
            return all(f"\n{name}{{" in text for name in LAST)

        until(is_polled, 30, "the first round of polls")
        yield demo


@contextmanager
def prometheus_running(
    program: str, folder: Path, demo: Served, rules: tuple[tuple[str, str], ...] = (), alertmanager: str = ""
) -> Iterator[Served]:
    """A Prometheus with the shipped configuration and rules; only the ports and the pace are the test's.

    Args:
        program: the path of the program.
        folder: where its files are put.
        demo: what it scrapes.
        rules: what is put in the place of what, in the test's copy of the rules.
        alertmanager: where it sends its alerts; nowhere where empty.
    """
    shutil.copytree(SHIPPED / "prometheus", folder / "prometheus")
    config = folder / "prometheus" / "prometheus.yml"
    replace(
        config,
        ("127.0.0.1:9877", demo.url.removeprefix("http://")),
        ("scrape_interval: 30s", "scrape_interval: 1s"),
        ("scrape_timeout: 10s", "scrape_timeout: 1s"),
        ("evaluation_interval: 30s", "evaluation_interval: 1s"),
        ("127.0.0.1:9093", alertmanager.removeprefix("http://") or f"127.0.0.1:{free_port()}"),
    )
    texts = "".join(path.read_text() for path in (folder / "prometheus" / "rules").glob("*.yml"))
    assert [told for told, _ in rules if told not in texts] == []
    for path in (folder / "prometheus" / "rules").glob("*.yml"):
        for told, ours in rules:
            path.write_text(path.read_text().replace(told, ours))
    port = free_port()
    served = Served(f"http://127.0.0.1:{port}")
    with running(
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ):
        served.wait("/-/ready")
        yield served


def replace(file: Path, *replacements: tuple[str, str]) -> None:
    """Replace what a file must hold."""
    text = file.read_text()
    for told, ours in replacements:
        assert told in text, told
        text = text.replace(told, ours)
    file.write_text(text)


def decoded(body: bytes) -> dict[str, Any]:
    """A JSON object."""
    told: dict[str, Any] = json.loads(body)
    return told
