"""Runs the demo like a user, together with real programs."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.commands.shell import process
from tests.deploy.files import DEPLOY
from tests.real_parts import Prometheus, prometheus_reading
from tests.waiting import PATIENCE, wait_until

# Families of collectors whose first round ends late.
LAST = ("edge_script_info", "edge_shield_bot_detection_sensitivity", "edge_resources", "edge_database_orders_open")
# In the test's copy of the rules, each rule is evaluated every second, and its alert fires at once.
AT_ONCE = (("interval: 1m\n", "interval: 1s\n"), ("interval: 2m\n", "interval: 1s\n"), ("        for: ", "        # "))


@dataclass(frozen=True)
class Served:
    """A server that answers HTTP."""

    url: str

    def get(self, path: str) -> httpx.Response:
        """Request a path."""
        return httpx.get(self.url + path, timeout=PATIENCE, trust_env=False)

    def post(self, path: str, /, **body: Any) -> None:
        """Send a JSON object, which must be accepted."""
        answer = httpx.post(self.url + path, json=body, timeout=PATIENCE, trust_env=False)
        assert answer.is_success, answer.text


@dataclass(frozen=True)
class Demo(Served):
    """A running demo and the address of its sandbox."""

    sandbox: Served


@contextmanager
def demo_running() -> Iterator[Demo]:
    """Run the demo, and wait until everything was polled once."""
    ports = ("--listen", "127.0.0.1:0", "--sandbox-port", "0")
    with process("demo", *ports, stderr=subprocess.DEVNULL) as started:
        printed = started.read_addresses()
        demo = Demo(printed["metrics"].removesuffix("/metrics"), Served(printed["sandbox"]))
        wait_until(lambda: demo.get("/-/ready").is_success, "the demo to be ready")

        def is_polled() -> bool:
            text = demo.get("/metrics").text
            return all(f"\n{name}{{" in text for name in LAST)

        wait_until(is_polled, "the first round of polls")
        yield demo


@contextmanager
def prometheus_beside(demo: Served, folder: Path) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes the demo, with the shipped configuration and rules; its alerts fire at once.

    Only addresses and intervals are changed. Its files are in a folder.
    """
    shutil.copytree(DEPLOY / "prometheus", folder / "prometheus")
    config = folder / "prometheus" / "prometheus.yml"
    replacements = (
        ("127.0.0.1:9877", demo.url.removeprefix("http://")),
        ("scrape_interval: 30s", "scrape_interval: 1s"),
        ("scrape_timeout: 10s", "scrape_timeout: 1s"),
        ("evaluation_interval: 30s", "evaluation_interval: 1s"),
        # The port of discard, on which nothing listens.
        ("127.0.0.1:9093", "127.0.0.1:9"),
    )
    text = config.read_text()
    for shipped, ours in replacements:
        assert shipped in text, shipped
        text = text.replace(shipped, ours)
    config.write_text(text)
    texts = "".join(path.read_text() for path in (folder / "prometheus" / "rules").glob("*.yml"))
    assert [shipped for shipped, _ in AT_ONCE if shipped not in texts] == []
    for path in (folder / "prometheus" / "rules").glob("*.yml"):
        for shipped, ours in AT_ONCE:
            path.write_text(path.read_text().replace(shipped, ours))
    with prometheus_reading(config, folder / "data") as running:
        yield running
