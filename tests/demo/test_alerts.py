"""An event in the sandbox leads to a notification through exporter, Prometheus and Alertmanager; so does its end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.demo.running_demo import SHIPPED, Served, demo_running, prometheus_beside, replace
from tests.http_answers import answering
from tests.real_parts import alertmanager_reading
from tests.waiting import wait_until

# A rate over 15 minutes that has to last for 5 more would take 20 minutes: in the test's copy both are seconds.
IN_SECONDS = (
    ("interval: 1m\n", "interval: 1s\n"), ("interval: 2m\n", "interval: 1s\n"), ("[15m]", "[20s]"),
    ("offset 15m", "offset 20s"), ("time() - 900", "time() - 20"), ("for: 5m", "for: 1s"),
    ("keep_firing_for: 45m", "keep_firing_for: 3s"),
)  # fmt: skip
# The receiver of the alert that always fires.
ALWAYS = "/watchdog"


@dataclass
class Webhook:
    """The notifications of a webhook, without the alert that always fires: the receiver's path and the alert."""

    url: str
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    always: list[dict[str, Any]] = field(default_factory=list)

    def statuses(self, alertname: str) -> list[str]:
        """Return the statuses with which an alert was sent, each once, in order."""
        found = [alert["status"] for _, alert in self.sent if alert["labels"]["alertname"] == alertname]
        return list(dict.fromkeys(found))

    def first(self, alertname: str) -> tuple[str, dict[str, Any]]:
        """Return the first notification of an alert."""
        return next((path, alert) for path, alert in self.sent if alert["labels"]["alertname"] == alertname)


@contextmanager
def listening() -> Iterator[Webhook]:
    """A webhook on the loopback interface."""

    def take(request: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, bytes]:
        alerts = json.loads(sent)["alerts"]
        webhook.sent += [(request.path, alert) for alert in alerts if request.path != ALWAYS]
        webhook.always += [alert for alert in alerts if request.path == ALWAYS]
        return 200, b""

    with answering(take) as url:
        webhook = Webhook(url)
        yield webhook


@contextmanager
def alertmanager_running(folder: Path, webhook: str) -> Iterator[Served]:
    """Run an Alertmanager with the shipped routes and inhibitions; only webhook and waits are changed."""
    config = folder / "alertmanager.yml"
    config.write_text((SHIPPED / "alertmanager" / "alertmanager.yml").read_text())
    replace(
        config,
        ("http://127.0.0.1:9095", webhook),
        ("group_wait: 30s", "group_wait: 1s"),
        ("group_wait: 10s", "group_wait: 1s"),
        ("group_interval: 5m", "group_interval: 2s"),
        ("group_interval: 1m", "group_interval: 2s"),
    )
    with alertmanager_reading(config, folder / "alertmanager") as url:
        served = Served(url)
        served.wait("/-/ready")
        yield served


@pytest.mark.real("prometheus")
def test_a_failed_scan_and_a_breach_reach_the_webhook_and_so_does_their_end(tmp_path: Path) -> None:
    with (
        listening() as webhook,
        demo_running() as demo,
        alertmanager_running(tmp_path, webhook.url) as sender,
        prometheus_beside(demo, tmp_path, IN_SECONDS, sender.url) as watcher,
    ):
        world = demo.sandbox.get("/sandbox/world").json()
        zone = world["dns_zones"]["first"][0]
        limit = world["rate_limits"][0]
        rate = f'rate_limit_action:edge_shield_rate_limit_breaches:rate15m{{rate_limit_id="{limit["id"]}"}}'
        wait_until(lambda: bool(watcher.ask(rate)), "a rate of breaches that can be trusted")
        assert webhook.sent == []

        demo.sandbox.happen("scan_failed", zone_id=zone["id"])
        demo.sandbox.happen("breach_burst", rate_limit_id=limit["id"], blocked=100_000)
        both = ("EdgeDnsScanFailed", "EdgeRateLimitBlocking")
        wait_until(lambda: all("firing" in webhook.statuses(name) for name in both), "both notifications")
        of = next(zone["name"] for zone in world["shield_zones"]["first"] if zone["id"] == limit["shield_zone_id"])
        for name, label, thing, summary in (
            (both[0], "zone_id", zone, f"The last record scan of {zone['name']} failed."),
            (both[1], "rate_limit_id", limit, f"Rate limit {limit['name']} of {of} is blocking requests."),
        ):
            path, alert = webhook.first(name)
            found = (path, alert["labels"][label], alert["annotations"]["summary"])
            assert found == ("/warning", str(thing["id"]), summary)
        assert alert["annotations"]["runbook_url"].endswith("/deploy/runbooks/EdgeRateLimitBlocking.md")

        demo.sandbox.happen("scan_completed", zone_id=zone["id"])
        wait_until(lambda: all("resolved" in webhook.statuses(name) for name in both), "the end of both")
        assert [webhook.statuses(name) for name in both] == [["firing", "resolved"]] * 2
        # Nothing else was wrong, and nothing else was sent.
        assert {alert["labels"]["alertname"] for _, alert in webhook.sent} == set(both)
