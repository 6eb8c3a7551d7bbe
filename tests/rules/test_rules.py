import re

import pytest

from exporter.settings.targets import ALERTS as THRESHOLDS
from exporter.settings.targets import parse_own_label
from tests.dashboards.expressions import seconds, selected
from tests.dashboards.families import SCRAPE_LABELS, family_of, known_families
from tests.deploy.files import DEPLOY, run
from tests.real_parts import Release, find_of
from tests.rules.rule_files import CASES, Rule, load_alerts, load_recordings, load_rules
from tests.waiting import PATIENCE

BASE_URL = "https://github.com/edge-exporter/edge-exporter/blob/main/deploy/runbooks"
ALERTS = load_alerts()
RECORDINGS = load_recordings()
FAMILIES = known_families()
# The first round of polls of 10,000 zones at 10 requests a second takes 35 minutes; metrics of a database, and the
# exporter's own, are back sooner.
OF_ACCOUNT = re.compile(r"edge_(dns|script|shield|container)_|target:|account_collector:")
FIRST_ROUND, RESTART = 35 * 60, 10 * 60
# Alerts on series of Prometheus itself, and the alert that always fires.
OF_EXPORTERS = {"EdgeClockWrong", "EdgeConfigurationWrong"}
NOT_HELD = {"EdgeExporterDown", "EdgeWatchdog"}
BY_RULE = pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.name)


@pytest.fixture(scope="module", params=[Release.INSTALLED, Release.NEWEST], ids=["prometheus-2", "prometheus-3"])
def promtool(request: pytest.FixtureRequest) -> str:
    """The promtool of both supported major releases."""
    return find_of(request.param, "promtool")


@pytest.mark.real
def test_promtool_accepts_the_configuration_and_every_rule(promtool: str) -> None:
    checked = run(promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    found = [int(count) for count in re.findall(r"SUCCESS: (\d+) rules found", checked.stdout)]
    assert (checked.returncode, checked.stderr, sum(found)) == (0, "", len(ALERTS) + len(RECORDINGS))


@pytest.mark.timeout(1800)  # it evaluates days of rules for every alert
@pytest.mark.real
def test_every_case_comes_out_as_expected(promtool: str) -> None:
    # promtool allocates much memory and keeps little, so fewer collections are faster.
    cases = sorted(CASES.glob("*.test.yml"))
    tested = run(promtool, "test", "rules", *cases, environ={"GOGC": "800"}, timeout=3 * PATIENCE)
    failed = [part for part in tested.stdout.split("Unit Testing:") if "SUCCESS" not in part]
    assert tested.returncode == 0, "".join(failed) + tested.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_what_it_is_how_grave_and_where_to_read_on(alert: Rule) -> None:
    assert alert.name.startswith("Edge")
    is_of_targets = "$labels.account" in alert.annotations["description"] and alert.name not in OF_EXPORTERS
    assert set(alert.labels) == {"severity", "area", *(["team"] if is_of_targets else [])}
    assert alert.labels["severity"] in ({"none"} if alert.name == "EdgeWatchdog" else {"critical", "warning"})
    assert alert.labels["area"] in {"dns", "scripts", "shield", "containers", "database", "exporter"}
    assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    assert alert.annotations["runbook_url"] == f"{BASE_URL}/{alert.name}.md"
    assert alert.annotations["summary"].endswith(".")
    assert alert.annotations["description"].endswith(".")
    # Values of the chart change thresholds, and texts must stay true.
    thresholds = r"minutes or more|three times|a quarter|half of|per cent"
    assert re.findall(thresholds, " ".join(alert.annotations.values())) == []
    # Another job may have an account of the same name.
    assert "{account=" not in " ".join((*alert.labels.values(), *alert.annotations.values()))


@pytest.mark.parametrize(
    "alert", [alert for alert in ALERTS if alert.name not in NOT_HELD], ids=lambda alert: alert.name
)
def test_an_alert_is_held_while_a_restart_leaves_no_series(alert: Rule) -> None:
    held = [part.range.total_seconds() for part in selected(alert.expr) if part.call == "last_over_time" and part.range]
    held += [seconds(alert.keep_firing_for)] if alert.keep_firing_for else []
    assert max(held) >= (FIRST_ROUND if OF_ACCOUNT.search(alert.expr) else RESTART)


@BY_RULE
def test_every_name_exists_with_the_labels_that_are_asked_of_it(rule: Rule) -> None:
    recorded = {recording.name for recording in RECORDINGS}
    for part in selected(rule.expr):
        if part.name in recorded:
            continue
        family = FAMILIES[family_of(part.name)]
        of_buckets = {"le"} if family.histogram else set()
        assert part.labels <= family.labels | SCRAPE_LABELS | of_buckets, part.name


def test_no_label_of_a_target_hides_one_of_a_family_or_an_alert() -> None:
    for name in SCRAPE_LABELS.union({"severity", "area"}, *(family.labels for family in FAMILIES.values())):
        with pytest.raises(ValueError, match="is used by Prometheus, the exporter"):
            parse_own_label(name)


@BY_RULE
def test_counters_are_read_as_rates_over_at_least_four_polls(rule: Rule) -> None:
    for part in selected(rule.expr):
        family = FAMILIES.get(family_of(part.name))
        if family is None or not (family.counter or family.histogram):
            continue
        assert part.call in {"rate", "increase"}, part.name
        assert part.range
        assert part.range.total_seconds() >= 4 * family.polled_every, part.name


def test_every_alert_with_a_threshold_for_targets_takes_that_of_the_configuration() -> None:
    chosen = re.compile(r'edge_alert_threshold(?::configured)?\{alert="(\w+)"\}')
    assert {name for alert in ALERTS for name in chosen.findall(alert.expr)} == set(THRESHOLDS)
    assert {name for alert in ALERTS for name in chosen.findall(alert.expr) if name != alert.name} == set()


def test_what_an_alert_reads_is_recorded_in_its_own_file_before_it() -> None:
    recorded: dict[str, str] = {}
    for rule in load_rules():
        if not rule.alerting:
            recorded[rule.name] = rule.file
            continue
        for part in selected(rule.expr):
            if ":" in part.name:
                assert recorded.get(part.name) == rule.file, rule.name


def test_every_recorded_series_serves_an_alert() -> None:
    recorded = {rule.name: rule for rule in RECORDINGS}
    used = {part.name for alert in ALERTS for part in selected(alert.expr)}
    for _ in recorded:
        used |= {part.name for name in used & recorded.keys() for part in selected(recorded[name].expr)}
    assert recorded.keys() - used == set()
