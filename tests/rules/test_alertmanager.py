"""The shipped Alertmanager configuration, in a real Alertmanager."""

from collections.abc import Iterator

import httpx
import pytest

from tests.deploy.files import DEPLOY, run
from tests.real_parts import alertmanager_reading
from tests.waiting import PATIENCE, settled

CONFIG = DEPLOY / "alertmanager" / "alertmanager.yml"
SENT, SILENCED = False, True

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Run one Alertmanager for all tests; each test uses its own job."""
    with (
        alertmanager_reading(CONFIG, tmp_path_factory.mktemp("alertmanager")) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("receiver", "alert", "severity"),
    [
        ("critical", "EdgeAccountDown", "critical"),
        ("warning", "EdgeTargetFailing", "warning"),
        ("info", "EdgeTargetFailing", "info"),
        ("watchdog", "EdgeWatchdog", "none"),
    ],
)
def test_an_alert_goes_to_the_receiver_of_its_severity(receiver: str, alert: str, severity: str) -> None:
    labels = (f"severity={severity}", f"alertname={alert}")
    routed = run("amtool", "config", "routes", "test", f"--config.file={CONFIG}", *labels)
    assert routed.stdout.strip() == receiver


def of_account(cause: str) -> dict[str, bool]:
    """Return which alerts are sent or silenced if an alert fires by which a whole account is down."""
    return {
        f"{cause} account=main": SENT,
        "EdgeDnsScanFailed account=main": SILENCED,
        "EdgeTargetFailing account=main target=script/7": SILENCED,
        "EdgeCollectorFailing account=main": SILENCED,
        "EdgeDnsScanFailed account=second": SENT,
        "EdgeDatabaseDown database=orders": SENT,
        "EdgeLedgerDown instance=exporter-0:9877": SENT,
        "SomebodyElses account=main": SENT,
    }


# Alerts that fire together in one job, and whether Alertmanager sends each.
TOGETHER = {
    "an account that is down silences its targets and no other's": of_account("EdgeAccountDown"),
    "a refused credential silences its targets and no other's": of_account("EdgeCredentialRefused"),
    "a refused credential is sent in place of the account being down": {
        "EdgeCredentialRefused account=main": SENT,
        "EdgeAccountDown account=main": SILENCED,
        "EdgeAccountDown account=second": SENT,
    },
    "an exporter that is down silences its instance and the missing shard": {
        "EdgeExporterDown instance=exporter-0:9877": SENT,
        "EdgeLedgerDown instance=exporter-0:9877": SILENCED,
        "EdgeShardMissing shards=2": SILENCED,
        "EdgeLedgerDown instance=exporter-1:9877": SENT,
        "EdgeAccountDown account=main": SENT,
    },
    "a failing collector silences the alerts on each of its targets": {
        "EdgeCollectorFailing account=main collector=scripts": SENT,
        "EdgeTargetFailing account=main collector=scripts target=script/7": SILENCED,
        "EdgeTargetFailing account=main collector=dns_statistics target=dns_zone/102": SENT,
        "EdgeTargetFailing account=second collector=scripts target=script/7": SENT,
        "EdgeScriptOverBudget account=main": SENT,
    },
    "a zone whose queries have dropped silences that its statistics stand still": {
        "EdgeDnsQueriesDropped account=main zone_id=102": SENT,
        "EdgeDnsStatisticsStalled account=main zone_id=102": SILENCED,
        "EdgeDnsStatisticsStalled account=main zone_id=103": SENT,
        "EdgeDnsStatisticsStalled account=second zone_id=102": SENT,
        "EdgeDnsStatisticsStalled account=main": SENT,
    },
    "a database that is down silences its own queries": {
        "EdgeDatabaseDown database=orders": SENT,
        "EdgeDatabaseQueryFailing database=orders target=query/orders/open": SILENCED,
        "EdgeDatabaseQueryFailing database=users target=query/users/new": SENT,
    },
}


def labels_of(alert: str) -> dict[str, str]:
    """Return the labels of an alert, from its name and its other labels in the order of their names."""
    name, *labels = alert.split()
    return {"alertname": name, **dict(label.split("=") for label in labels)}


def inhibited(alertmanager: httpx.Client, job: str) -> dict[str, bool]:
    """Return the alerts of a job, and whether each is inhibited."""
    found = {}
    for alert in alertmanager.get("/api/v2/alerts", params={"filter": f'job="{job}"'}).raise_for_status().json():
        labels = {name: text for name, text in sorted(alert["labels"].items()) if name not in {"alertname", "job"}}
        text = " ".join([alert["labels"]["alertname"], *(f"{name}={text}" for name, text in labels.items())])
        found[text] = bool(alert["status"]["inhibitedBy"])
    return found


@pytest.mark.parametrize("job", TOGETHER)
def test_what_follows_from_another_alert_of_its_job_is_not_sent(alertmanager: httpx.Client, job: str) -> None:
    expected = TOGETHER[job]
    elsewhere = next(alert for alert, silenced in expected.items() if silenced)
    fired = [{**labels_of(alert), "job": job} for alert in expected]
    fired.append({**labels_of(elsewhere), "job": f"{job}, in a laboratory"})
    alertmanager.post("/api/v2/alerts", json=[{"labels": labels} for labels in fired]).raise_for_status()

    # Alertmanager applies a new alert with a delay.
    assert settled(lambda: inhibited(alertmanager, job), expected) == expected
    assert inhibited(alertmanager, f"{job}, in a laboratory") == {elsewhere: SENT}
