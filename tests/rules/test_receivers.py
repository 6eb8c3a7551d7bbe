"""The receivers of the page on alerts in Slack, in a real Alertmanager: Slack, PagerDuty and a mail server."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.http_answers import answering
from tests.ports import free_port
from tests.real_parts import alertmanager_reading
from tests.rules.rule_files import DEPLOY
from tests.waiting import PATIENCE, wait_until

PAGE = DEPLOY.parent / "docs" / "alerts-in-slack.md"
SUMMARY = "A zone's scan has failed"
RUNBOOK = "https://example.net/runbook"
FOLDER = "/etc/alertmanager-edge"
PASSWORD = "of-the-mailbox"

pytestmark = pytest.mark.real


class Services:
    """Replaces Slack and PagerDuty by an HTTP server, and provides a mail server that requires a password."""

    def __init__(self) -> None:
        self.posted: dict[str, dict[str, Any]] = {}
        self.mails: list[Envelope] = []
        self._ends = ExitStack()
        self.url = self._ends.enter_context(answering(self._post))
        self.mail_port = free_port()
        # The mechanism LOGIN asks for a user name in words that Alertmanager does not know.
        login: dict[str, Any] = {
            "authenticator": self._log_in,
            "auth_require_tls": False,
            "auth_exclude_mechanism": ["LOGIN"],
        }
        self._smtp = Controller(self, "127.0.0.1", self.mail_port, ready_timeout=PATIENCE, **login)
        self._smtp.start()

    def _post(self, request: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, bytes]:
        self.posted[request.path] = json.loads(sent)
        return (202 if request.path == "/pagerduty" else 200), b""

    @staticmethod
    def _log_in(_: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, given: object) -> AuthResult:
        is_right = isinstance(given, LoginPassword) and given.password == PASSWORD.encode()
        return AuthResult(success=is_right, handled=False)

    async def handle_DATA(self, _: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Take a mail from a sender that has logged in."""
        if not session.authenticated:
            return "530 Authentication required"
        self.mails.append(envelope)
        return "250 OK"

    def close(self) -> None:
        """Stop both servers."""
        self._smtp.stop()
        self._ends.close()


@pytest.fixture
def services() -> Iterator[Services]:
    with closing(Services()) as running:
        yield running


def documented(title: str) -> str:
    """Return the first YAML block below a heading of the page."""
    section = PAGE.read_text().split(f"### {title}\n")[1]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert block is not None
    return block[1]


def configuration(folder: Path, services: Services) -> str:
    """Return the shipped configuration with the page's receivers; only addresses and waits are changed."""
    (folder / "slack-url").write_text(f"{services.url}/slack")
    (folder / "mail-password").write_text(PASSWORD)
    slack, pagerduty, mail = (yaml.safe_load(documented(title)) for title in ("Slack", "PagerDuty", "Mail"))
    receivers = {receiver["name"]: receiver for receiver in slack["receivers"]}
    receivers["critical"] |= pagerduty
    for receiver in mail:
        receivers[receiver["name"]] |= receiver
    shipped = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    assert {receiver["name"] for receiver in shipped["receivers"]} == set(receivers)
    (to_pagerduty,), (by_mail,) = receivers["critical"]["pagerduty_configs"], receivers["info"]["email_configs"]
    to_pagerduty["url"] = f"{services.url}/pagerduty"
    # The server is on this machine, and has no certificate.
    by_mail |= {"smarthost": f"127.0.0.1:{services.mail_port}", "require_tls": False}
    for route in (shipped["route"], *shipped["route"]["routes"]):
        route["group_wait"] = "0s"
    return yaml.safe_dump(shipped | {"receivers": list(receivers.values())}).replace(FOLDER, str(folder))


def test_slack_pagerduty_and_mail_receive_what_the_page_promises(services: Services, tmp_path: Path) -> None:
    config = tmp_path / "alertmanager.yml"
    config.write_text(configuration(tmp_path, services))
    annotations = {"summary": SUMMARY, "runbook_url": RUNBOOK}
    alerts = [
        {"labels": {"alertname": f"Edge{severity.title()}", "severity": severity}, "annotations": annotations}
        for severity in ("critical", "warning", "info")
    ]
    with (
        alertmanager_reading(config, tmp_path / "data") as url,
        httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client,
    ):
        client.post("/api/v2/alerts", json=alerts[:1]).raise_for_status()
        wait_until(lambda: {"/slack", "/pagerduty"} <= services.posted.keys(), "Slack and PagerDuty")
        (attachment,) = services.posted.pop("/slack")["attachments"]
        assert attachment["title"] == "FIRING EdgeCritical (1)"
        assert attachment["text"].strip() == f"{SUMMARY} <{RUNBOOK}|what to do>"
        event = services.posted["/pagerduty"]
        assert (event["event_action"], event["routing_key"]) == ("trigger", "YOUR-INTEGRATION-KEY")
        assert event["payload"]["summary"] == f"EdgeCritical: {SUMMARY}"
        client.post("/api/v2/alerts", json=alerts[1:]).raise_for_status()
        wait_until(lambda: "/slack" in services.posted and services.mails, "Slack and a mail")
        assert services.posted["/slack"]["attachments"][0]["title"] == "FIRING EdgeWarning (1)"
        (mail,) = services.mails
        assert (mail.mail_from, mail.rcpt_tos) == ("alertmanager@example.net", ["edge@example.net"])
        assert isinstance(mail.content, bytes)
        body = message_from_bytes(mail.content, policy=policy.default)
        assert "EdgeInfo" in body["Subject"]
