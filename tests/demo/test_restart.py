"""A restart of the exporter, seen by a real Prometheus and a real Alertmanager, with the shipped rules and routes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.shell import process
from tests.demo.stage import Served, prometheus_beside
from tests.demo.test_alerts import Webhook, alertmanager_running, listening
from tests.ports import free_port
from tests.real_parts import Prometheus
from tests.waiting import wait_until

# An alert that waits for 5 minutes waits for 5 seconds. An absence of the exporter is an alert after minutes, as it is
# shipped, and so is `keep_firing_for`.
IN_SECONDS = (
    ("interval: 1m\n", "interval: 1s\n"),
    ("for: 5m\n        keep_firing_for: 45m", "for: 5s\n        keep_firing_for: 45m"),
)
# Longer than any of the alerts here waits.
SETTLED_SECONDS = 10
CONFIG = """
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
collectors:
  shield_zones: {{interval: 1s}}
  dns_record_scans: {{interval: 2s}}
web: {{listen: "127.0.0.1:{port}"}}
state: {{path: "{state}"}}
"""


@contextmanager
def sandbox_running() -> Iterator[Served]:
    """A sandbox in a process of its own."""
    port = free_port()
    with process("sandbox", "--port", str(port)) as started:
        started.read_until("Stop with Ctrl-C")
        yield Served(f"http://127.0.0.1:{port}")


@contextmanager
def exporter_running(config: Path, port: int) -> Iterator[Served]:
    """An exporter in a process of its own; it is stopped with the block."""
    with process("run", "--config", config, stderr=subprocess.DEVNULL):
        exporter = Served(f"http://127.0.0.1:{port}")
        exporter.wait("/-/ready")
        yield exporter


def sent(webhook: Webhook) -> list[tuple[str, dict[str, str]]]:
    """The status and the labels of each alert that was sent."""
    return [(alert["status"], alert["labels"]) for _, alert in webhook.told]


def scraped(watcher: Prometheus, seconds: int) -> bool:
    """Whether the exporter's shield zones were scraped for so long without a gap."""
    found = watcher.ask(f"count_over_time(edge_shield_zone_waf_enabled[{seconds}s]) >= {seconds - 5}")
    return bool(found)


@pytest.mark.real
def test_a_restart_of_the_exporter_sends_nothing(tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "config.yml"
    with listening() as webhook, sandbox_running() as sandbox, alertmanager_running(tmp_path, webhook.url) as sender:
        config.write_text(CONFIG.format(url=sandbox.url, key=keys.API_KEY, port=port, state=tmp_path / "state.db"))
        watched = Served(f"http://127.0.0.1:{port}")
        on = {"wafEnabled": True, "wafExecutionMode": 1}
        sandbox.post("/sandbox/world", event="shield_zone_fields", shield_zone_id=1, fields=on)
        sandbox.post("/sandbox/world", event="shield_zone_fields", shield_zone_id=2, fields=on)
        with prometheus_beside(watched, tmp_path, IN_SECONDS, sender.url) as watcher:
            with exporter_running(config, port):
                wait_until(lambda: scraped(watcher, SETTLED_SECONDS), "zones whose WAF is on")
                wait_until(lambda: bool(webhook.always), "the alert that always fires")
                sandbox.post(
                    "/sandbox/world", event="shield_zone_fields", shield_zone_id=1, fields={"wafEnabled": False}
                )
                sandbox.post(
                    "/sandbox/world", event="shield_zone_fields", shield_zone_id=2, fields={"wafExecutionMode": 0}
                )
                sandbox.post("/sandbox/world", event="scan_failed", zone_id=101)
                expected = {"EdgeWafSwitchedOff", "EdgeShieldSetToLog", "EdgeDnsScanFailed"}
                wait_until(lambda: {labels["alertname"] for _, labels in sent(webhook)} >= expected, "the alerts")
                named = [labels for _, labels in sent(webhook) if labels["alertname"] == "EdgeWafSwitchedOff"]
                assert named[0]["shield_zone_id"] == "1"
                assert named[0]["pull_zone"]
                wait_until(lambda: scraped(watcher, SETTLED_SECONDS), "a calm while")
            before = sent(webhook)
            wait_until(lambda: not watcher.ask("edge_shield_zone_waf_enabled"), "the silence")
            with exporter_running(config, port):
                wait_until(lambda: scraped(watcher, SETTLED_SECONDS), "the alerts' own time after the restart")
                firing = 'count(ALERTS{alertname=~"EdgeWafSwitchedOff|EdgeShieldSetToLog",alertstate="firing"})'
                assert float(watcher.ask(firing)[0]["value"][1]) == 2
                assert sent(webhook)[len(before) :] == []
                assert {status for status, _ in sent(webhook)} == {"firing"}
