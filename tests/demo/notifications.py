"""A webhook, and an Alertmanager with the shipped routes that notifies it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.demo.running_demo import SHIPPED, Served, replace
from tests.http_answers import answering
from tests.real_parts import alertmanager_reading

# The receiver of the alert that always fires.
ALWAYS = "/watchdog"


@dataclass
class Webhook:
    """The notifications of a webhook, without the alert that always fires: the receiver's path and the alert."""

    url: str
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    always: list[dict[str, Any]] = field(default_factory=list)


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
