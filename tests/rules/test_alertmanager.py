"""The shipped Alertmanager configuration, in a real Alertmanager."""

import subprocess
from collections.abc import Iterator

import httpx
import pytest

from tests.real_parts import alertmanager_reading
from tests.rules.rule_files import DEPLOY, Rule, load_alerts
from tests.waiting import PATIENCE, settled

CONFIG = DEPLOY / "alertmanager" / "alertmanager.yml"

pytestmark = pytest.mark.real


class Asked:
    """The HTTP API of a running Alertmanager."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def post(self, *alerts: dict[str, str]) -> None:
        """Make alerts fire."""
        self._client.post("/api/v2/alerts", json=[{"labels": labels} for labels in alerts]).raise_for_status()

    def inhibited(self, job: str) -> dict[str, bool]:
        """Return the alerts of a job, and whether each is inhibited."""
        answer = self._client.get("/api/v2/alerts", params={"filter": f'job="{job}"'}).raise_for_status()
        return {_named(alert["labels"]): bool(alert["status"]["inhibitedBy"]) for alert in answer.json()}

    def await_inhibited(self, job: str, expected: dict[str, bool]) -> dict[str, bool]:
        """Wait until `inhibited` returns what is expected, because Alertmanager applies a new alert with a delay."""
        return settled(lambda: self.inhibited(job), expected)


def _named(labels: dict[str, str]) -> str:
    return " ".join(
        [labels["alertname"], *(labels[name] for name in ("account", "instance", "target") if name in labels)]
    )


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Run one Alertmanager for all tests; each test uses its own job."""
    with alertmanager_reading(CONFIG, tmp_path_factory.mktemp("alertmanager")) as url:
        asked = Asked(url)
        yield asked
        asked.close()


def test_amtool_accepts_the_configuration(amtool: str) -> None:
    run = subprocess.run([amtool, "check-config", str(CONFIG)], capture_output=True, text=True, check=False)
    assert (run.returncode, "SUCCESS" in run.stdout) == (0, True), run.stdout + run.stderr


@pytest.mark.parametrize("alert", load_alerts(), ids=lambda alert: alert.name)
def test_an_alert_goes_to_the_receiver_of_its_severity_and_the_one_that_always_fires_to_its_own(
    amtool: str, alert: Rule
) -> None:
    severity = alert.labels["severity"]
    labels = (f"severity={severity}", f"alertname={alert.name}")
    run = subprocess.run(
        [amtool, "config", "routes", "test", f"--config.file={CONFIG}", *labels],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == ("watchdog" if severity == "none" else severity)


@pytest.mark.parametrize("source", ["EdgeAccountDown", "EdgeCredentialRefused"])
def test_an_account_that_is_down_silences_its_targets_and_no_other_s(alertmanager: Asked, source: str) -> None:
    job = f"account-{source}"
    alertmanager.post(
        {"alertname": source, "job": job, "account": "main"},
        {"alertname": "EdgeDnsScanFailed", "job": job, "account": "main"},
        {"alertname": "EdgeTargetFailing", "job": job, "account": "main", "target": "script/7"},
        {"alertname": "EdgeCollectorFailing", "job": job, "account": "main"},
        {"alertname": "EdgeDnsScanFailed", "job": job, "account": "second"},
        {"alertname": "EdgeDatabaseDown", "job": job, "database": "orders"},
        {"alertname": "EdgeLedgerDown", "job": job, "instance": "exporter-0:9877"},
        {"alertname": "SomebodyElses", "job": job, "account": "main"},
        {"alertname": "EdgeDnsScanFailed", "job": f"{job}-lab", "account": "main"},
    )
    expected = {
        f"{source} main": False,
        "EdgeDnsScanFailed main": True,
        "EdgeTargetFailing main script/7": True,
        "EdgeCollectorFailing main": True,
        "EdgeDnsScanFailed second": False,
        "EdgeDatabaseDown": False,
        "EdgeLedgerDown exporter-0:9877": False,
        "SomebodyElses main": False,
    }
    assert alertmanager.await_inhibited(job, expected) == expected
    assert alertmanager.inhibited(f"{job}-lab") == {"EdgeDnsScanFailed main": False}


def test_a_refused_credential_is_sent_in_place_of_the_account_being_down(alertmanager: Asked) -> None:
    alertmanager.post(
        {"alertname": "EdgeAccountDown", "job": "credential", "account": "main"},
        {"alertname": "EdgeCredentialRefused", "job": "credential", "account": "main"},
    )
    expected = {"EdgeAccountDown main": True, "EdgeCredentialRefused main": False}
    assert alertmanager.await_inhibited("credential", expected) == expected


def test_an_exporter_that_is_down_silences_its_instance_and_the_missing_shard(alertmanager: Asked) -> None:
    alertmanager.post(
        {"alertname": "EdgeExporterDown", "job": "exporter", "instance": "exporter-0:9877"},
        {"alertname": "EdgeLedgerDown", "job": "exporter", "instance": "exporter-0:9877"},
        {"alertname": "EdgeLedgerDown", "job": "exporter", "instance": "exporter-1:9877"},
        {"alertname": "EdgeShardMissing", "job": "exporter", "shards": "2"},
        {"alertname": "EdgeAccountDown", "job": "exporter", "account": "main"},
    )
    expected = {
        "EdgeExporterDown exporter-0:9877": False,
        "EdgeLedgerDown exporter-0:9877": True,
        "EdgeLedgerDown exporter-1:9877": False,
        "EdgeShardMissing": True,
        "EdgeAccountDown main": False,
    }
    assert alertmanager.await_inhibited("exporter", expected) == expected


def test_a_failing_collector_silences_the_alerts_on_each_of_its_targets(alertmanager: Asked) -> None:
    scripts = {"job": "collector", "account": "main", "collector": "scripts"}
    zones = {**scripts, "collector": "dns_statistics"}
    alertmanager.post(
        {"alertname": "EdgeCollectorFailing", **scripts},
        {"alertname": "EdgeTargetFailing", **scripts, "target": "script/7"},
        {"alertname": "EdgeTargetStale", **scripts, "target": "script/7"},
        {"alertname": "EdgeTargetFailing", **zones, "target": "dns_zone/102"},
        {"alertname": "EdgeScriptOverBudget", "job": "collector", "account": "main"},
    )
    expected = {
        "EdgeCollectorFailing main": False,
        "EdgeTargetFailing main script/7": True,
        "EdgeTargetStale main script/7": True,
        "EdgeTargetFailing main dns_zone/102": False,
        "EdgeScriptOverBudget main": False,
    }
    assert alertmanager.await_inhibited("collector", expected) == expected


def test_a_database_that_is_down_silences_its_own_queries(alertmanager: Asked) -> None:
    alertmanager.post(
        {"alertname": "EdgeDatabaseDown", "job": "database", "database": "orders"},
        {
            "alertname": "EdgeDatabaseQueryFailing",
            "job": "database",
            "database": "orders",
            "target": "query/orders/open",
        },
        {"alertname": "EdgeDatabaseQueryFailing", "job": "database", "database": "users", "target": "query/users/new"},
        {"alertname": "EdgeCredentialPartlyRefused", "job": "database", "database": "orders"},
    )
    expected = {
        "EdgeDatabaseDown": False,
        "EdgeCredentialPartlyRefused": True,
        "EdgeDatabaseQueryFailing query/orders/open": True,
        "EdgeDatabaseQueryFailing query/users/new": False,
    }
    assert alertmanager.await_inhibited("database", expected) == expected


def test_a_stale_target_is_sent_once(alertmanager: Asked) -> None:
    scripts = {"job": "stale", "account": "main", "collector": "scripts"}
    alertmanager.post(
        {"alertname": "EdgeTargetStale", **scripts, "target": "script/7"},
        {"alertname": "EdgeTargetFailing", **scripts, "target": "script/7"},
        {"alertname": "EdgeTargetFailing", **scripts, "target": "script/8"},
    )
    expected = {
        "EdgeTargetStale main script/7": False,
        "EdgeTargetFailing main script/7": True,
        "EdgeTargetFailing main script/8": False,
    }
    assert alertmanager.await_inhibited("stale", expected) == expected
