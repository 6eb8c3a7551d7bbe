"""Changes on the platform and a restart of the exporter, as Prometheus 2 and 3, each with an Alertmanager, report them.

The rules and the routes are the shipped ones.
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.shell import process
from tests.demo.notifications import Webhook, alertmanager_running, listening
from tests.demo.running_demo import Served, prometheus_beside
from tests.ports import free_port
from tests.real_parts import Prometheus, Release
from tests.waiting import wait_until

CRITICAL_OF_SHIELD = "        labels:\n          severity: critical\n          area: shield\n"
# An alert that waits for 5 minutes waits for 5 seconds. An absence of the exporter is an alert after minutes, as it is
# shipped; an alert whose series are missing is held for longer than the exporter is away.
IN_SECONDS = (
    ("interval: 1m\n", "interval: 1s\n"),
    (f"for: 5m\n{CRITICAL_OF_SHIELD}", f"for: 5s\n{CRITICAL_OF_SHIELD}"),
)
# Longer than any of the alerts here waits.
SETTLED_SECONDS = 10
CONFIG = """
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
    scripts: {{monthly_budget_dollars: {{{script}: 20}}}}
collectors:
  discovery: {{interval: 2s}}
  dns_record_scans: {{interval: 2s}}
  dns_statistics: {{interval: 1s}}
  scripts: {{interval: 2s}}
  shield_zones: {{interval: 1s}}
web: {{listen: "127.0.0.1:{port}"}}
state: {{path: "{state}"}}
"""


@dataclass(frozen=True)
class Watcher:
    """A Prometheus that scrapes the exporter, and the alerts of its Alertmanager."""

    prometheus: Prometheus
    webhook: Webhook

    def sent(self, alertname: str = "") -> list[tuple[str, dict[str, str]]]:
        """Return the status and the labels of each notification, or of those of one alert."""
        found = [(alert["status"], alert["labels"]) for _, alert in self.webhook.sent]
        return [one for one in found if alertname in ("", one[1]["alertname"])]


@contextmanager
def exporter_running(config: Path, port: int) -> Iterator[Served]:
    """Run an exporter in a separate process until the block ends."""
    with process("run", "--config", config, stderr=subprocess.DEVNULL):
        exporter = Served(f"http://127.0.0.1:{port}")
        exporter.wait("/-/ready")
        yield exporter


@contextmanager
def watching(folder: Path, port: int) -> Iterator[Sequence[Watcher]]:
    """Run a Prometheus of each major release, each with an Alertmanager; all scrape one exporter, which may be down."""
    with ExitStack() as stack:
        watchers = []
        for release in (Release.INSTALLED, Release.NEWEST):
            own = folder / (release or "installed")
            own.mkdir()
            webhook = stack.enter_context(listening())
            sender = stack.enter_context(alertmanager_running(own, webhook.url))
            exporter = Served(f"http://127.0.0.1:{port}")
            prometheus = stack.enter_context(prometheus_beside(exporter, own, IN_SECONDS, sender.url, release))
            watchers.append(Watcher(prometheus, webhook))
        yield watchers


def scraped(watcher: Watcher, seconds: int) -> bool:
    """Return whether the exporter's shield zones were scraped for this time without a gap."""
    return bool(watcher.prometheus.ask(f"count_over_time(edge_shield_zone_waf_enabled[{seconds}s]) >= {seconds - 5}"))


def wait_for_all(watchers: Sequence[Watcher], holds: Callable[[Watcher], object], awaited: str) -> None:
    """Wait until a condition holds for each of the watchers."""
    wait_until(lambda: all(holds(watcher) for watcher in watchers), awaited)


@pytest.mark.real("prometheus")
def test_changes_are_reported_in_the_first_minutes_and_a_restart_of_the_exporter_sends_nothing(tmp_path: Path) -> None:
    port = free_port()
    with process("sandbox", "--port", "0", "--zones", "1") as started, watching(tmp_path, port) as watchers:
        sandbox = Served(started.read_addresses()["sandbox"])
        script = sandbox.get("/sandbox/world").json()["scripts"]["first"][0]
        config, state = tmp_path / "config.yml", tmp_path / "state.db"
        settings = {"url": sandbox.url, "key": keys.API_KEY, "port": port, "state": state, "script": script["id"]}
        config.write_text(CONFIG.format(**settings))
        named = f'edge_script_monthly_budget_dollars{{script_id="{script["id"]}",script="renamed"}}'

        def settled(awaited: str) -> None:
            wait_for_all(watchers, lambda watcher: scraped(watcher, SETTLED_SECONDS), awaited)

        def renamed() -> None:
            wait_for_all(watchers, lambda watcher: watcher.prometheus.ask(named), "the budget under the new name")

        for zone in (1, 2):
            on = {"wafEnabled": True, "wafExecutionMode": 1}
            sandbox.happen("shield_zone_fields", shield_zone_id=zone, fields=on)
        with exporter_running(config, port):
            settled("zones whose WAF is on")
            wait_for_all(watchers, lambda watcher: watcher.webhook.always, "the alert that always fires")
            sandbox.happen("shield_zone_fields", shield_zone_id=1, fields={"wafEnabled": False})
            sandbox.happen("shield_zone_fields", shield_zone_id=2, fields={"wafExecutionMode": 0})
            sandbox.happen("scan_failed", zone_id=101)
            sandbox.happen("script_renamed", script_id=script["id"], name="renamed")
            renamed()
            sandbox.happen("script_cost", script_id=script["id"], cost=600.0)
            expected = {"EdgeShieldProtectionOff", "EdgeDnsScanFailed", "EdgeScriptOverBudget"}

            def off(watcher: Watcher) -> dict[str, dict[str, str]]:
                return {labels["protection"]: labels for _, labels in watcher.sent("EdgeShieldProtectionOff")}

            def is_told(watcher: Watcher) -> bool:
                named = {labels["alertname"] for _, labels in watcher.sent()}
                return named >= expected and off(watcher).keys() == {"waf", "blocking"}

            wait_for_all(watchers, is_told, "the alerts")
            for watcher in watchers:
                waf, (_, budget) = off(watcher)["waf"], watcher.sent("EdgeScriptOverBudget")[0]
                assert (waf["shield_zone_id"], bool(waf["pull_zone"]), budget["script"]) == ("1", True, "renamed")
            settled("a calm while")
        before = [watcher.sent() for watcher in watchers]
        gone = "absent(edge_shield_zone_waf_enabled)"
        wait_for_all(watchers, lambda watcher: watcher.prometheus.ask(gone), "the silence")
        with exporter_running(config, port):
            settled("the alerts' own time after the restart")
            renamed()
            firing = f'ALERTS{{alertname=~"{"|".join(expected)}",alertstate="firing"}}'
            for watcher, sent in zip(watchers, before, strict=True):
                assert {one["metric"]["alertname"] for one in watcher.prometheus.ask(firing)} == expected
                assert watcher.sent()[len(sent) :] == []
                assert {status for status, _ in watcher.sent()} == {"firing"}
            sandbox.happen("shield_zone_fields", shield_zone_id=1, fields={"wafEnabled": True})
            ended = ("resolved", "waf")

            def is_over(watcher: Watcher) -> bool:
                return ended in [(status, labels.get("protection")) for status, labels in watcher.sent()]

            wait_for_all(watchers, is_over, "the end of an alert")
