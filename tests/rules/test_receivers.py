"""The receivers of the page on alerts in Slack, in a real Alertmanager: Slack and PagerDuty get what it promises."""

import json
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.deploy.files import DEPLOY, document
from tests.http_answers import answering
from tests.real_parts import alertmanager_reading
from tests.waiting import PATIENCE, wait_until

PAGE = DEPLOY.parent / "docs" / "alerts-in-slack.md"
SUMMARY = "A zone's scan has failed"
RUNBOOK = "https://example.net/runbook"
FOLDER = "/etc/alertmanager-edge"

pytestmark = pytest.mark.real


def documented(title: str) -> str:
    """Return the first YAML block below a heading of the page."""
    section = PAGE.read_text().split(f"### {title}\n")[1]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert block is not None
    return block[1]


def configuration(folder: Path, url: str) -> str:
    """Return the shipped configuration with the page's receivers; only addresses and waits are changed."""
    (folder / "slack-url").write_text(f"{url}/slack")
    (folder / "mail-password").write_text("of-the-mailbox")
    slack, pagerduty, mail = (yaml.safe_load(documented(title)) for title in ("Slack", "PagerDuty", "Mail"))
    receivers = {receiver["name"]: receiver for receiver in slack["receivers"]}
    receivers["critical"] |= pagerduty
    for receiver in mail:
        receivers[receiver["name"]] |= receiver
    shipped = document(DEPLOY / "alertmanager" / "alertmanager.yml")
    assert {receiver["name"] for receiver in shipped["receivers"]} == set(receivers)
    (to_pagerduty,) = receivers["critical"]["pagerduty_configs"]
    to_pagerduty["url"] = f"{url}/pagerduty"
    for route in (shipped["route"], *shipped["route"]["routes"]):
        route["group_wait"] = "1s"
    return yaml.safe_dump(shipped | {"receivers": list(receivers.values())}).replace(FOLDER, str(folder))


def test_slack_and_pagerduty_receive_what_the_page_promises(tmp_path: Path) -> None:
    posted: dict[str, dict[str, Any]] = {}

    def take(request: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, bytes]:
        posted[request.path] = json.loads(sent)
        return (202 if request.path == "/pagerduty" else 200), b""

    config = tmp_path / "alertmanager.yml"
    labels = {"alertname": "EdgeCritical", "severity": "critical"}
    alerts = [
        {"labels": {**labels, "zone_id": f"{number:03}"}, "annotations": {"summary": SUMMARY, "runbook_url": RUNBOOK}}
        for number in range(197)
    ]
    with answering(take) as services:
        config.write_text(configuration(tmp_path, services))
        with alertmanager_reading(config, tmp_path / "data") as url:
            httpx.post(f"{url}/api/v2/alerts", json=alerts, trust_env=False, timeout=PATIENCE).raise_for_status()
            wait_until(lambda: {"/slack", "/pagerduty"} <= posted.keys(), "Slack and PagerDuty")
    (attachment,) = posted["/slack"]["attachments"]
    assert attachment["title"] == "FIRING EdgeCritical (197)"
    assert attachment["text"].splitlines() == [*[f"{SUMMARY} <{RUNBOOK}|what to do>"] * 10, "and 187 more"]
    event = posted["/pagerduty"]
    assert (event["event_action"], event["routing_key"]) == ("trigger", "YOUR-INTEGRATION-KEY")
    assert event["payload"]["summary"] == f"EdgeCritical: {SUMMARY}"
    assert event["payload"]["custom_details"]["firing"].splitlines() == [*[SUMMARY] * 10, "and 187 more"]
