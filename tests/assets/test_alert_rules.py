from functools import cache
from typing import Any

import pytest
import yaml

from exporter.assets.alert_rules import AssetError, parse_changes, render, threshold_names
from tests.for_each import for_each
from tests.rules.rule_files import RULES, Rule, load_alerts

SHIPPED = {path.name: path.read_text() for path in sorted(RULES.glob("*.yml"))}
ALERTS = load_alerts()
BY_ALERT = for_each("alert", ALERTS, name=lambda alert: alert.name)


def alerts_after(*assignments: str) -> dict[str, dict[str, Any]]:
    """Return every alert of the shipped rules after changes, by name."""
    rendered = render(SHIPPED, parse_changes(assignments))
    return {
        rule["alert"]: rule
        for text in rendered.values()
        # libyaml is ten times as fast as `safe_load`, for the same documents.
        for group in yaml.load(text, yaml.CSafeLoader)["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }


@cache
def alerts_before() -> dict[str, dict[str, Any]]:
    """Return every alert of the shipped rules, rendered without a change."""
    return alerts_after("label.unused=x")


def test_without_changes_the_files_are_returned_as_they_are() -> None:
    assert render(SHIPPED, parse_changes([])) == SHIPPED


@pytest.mark.parametrize("changed", [ALERTS[::2], ALERTS[1::2]], ids=["one half", "the other half"])
def test_each_value_of_an_alert_changes_that_alert_alone(changed: list[Rule]) -> None:
    """Every second alert has values of its own, and those between them stay as they are."""
    before = dict(alerts_before())
    own = {alert.name: number for number, alert in enumerate(changed, start=100)}
    changes = []
    for name, number in own.items():
        changes += [f"{name}.for={number}m", f"{name}.keep_firing_for={number}h", f"{name}.severity=s{number}"]
        changes += [f"{name}.label.team=t{number}", f"{name}.annotation.note=n{number}"]
        thresholds = threshold_names(before[name]["expr"])
        changes += [f"{name}.threshold.{threshold}={place}.{number}" for place, threshold in enumerate(thresholds)]
    after = alerts_after("label.unused=x", *changes)
    for name, number in own.items():
        rule, former = after.pop(name), before.pop(name)
        assert (rule["for"], rule["keep_firing_for"]) == (f"{number}m", f"{number}h")
        assert rule["labels"] == {**former["labels"], "severity": f"s{number}", "team": f"t{number}"}
        assert rule["annotations"] == {**former["annotations"], "note": f"n{number}"}
        for place, threshold in enumerate(threshold_names(former["expr"])):
            lines = [line for line in rule["expr"].splitlines() if line.endswith(f"# threshold: {threshold}")]
            assert lines
            assert all(f"{place}.{number}  # threshold" in line for line in lines)
    assert after == before


def test_values_of_all_alerts_change_all_of_them() -> None:
    after = alerts_after("severity.critical=page", "label.team=edge", "runbook_base=https://wiki.example.net/edge/")
    assert after.keys() == alerts_before().keys()
    for name, alert in after.items():
        assert alert["labels"]["team"] == "edge"
        assert alert["labels"]["severity"] != "critical"
        assert alert["annotations"]["runbook_url"] == f"https://wiki.example.net/edge/{name}.md"
    assert alerts_after("EdgeWafSwitchedOff.expr=vector(0)")["EdgeWafSwitchedOff"]["expr"] == "vector(0)"


def test_a_disabled_alert_is_left_out() -> None:
    after = alerts_after("disabled=EdgeWatchdog, EdgeDnsScanOld")
    assert alerts_before().keys() - after.keys() == {"EdgeWatchdog", "EdgeDnsScanOld"}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("EdgeWafSwitchedOf.for=1m", "EdgeWafSwitchedOf: no shipped alert has this name"),
        ("disabled=EdgeNone", "EdgeNone: no shipped alert has this name"),
        ("severity.page=x", "severity.page: expected one of critical, info, none, warning"),
        ("EdgeWafSwitchedOff.threshold.x=1", "EdgeWafSwitchedOff.threshold.x: the alert has no such threshold"),
        ("EdgeDnsQueriesSurge.threshold.factor=many", "EdgeDnsQueriesSurge.threshold.factor: expected a number"),
        ("EdgeDnsQueriesSurge.for=soon", "EdgeDnsQueriesSurge.for: expected a duration such as 10m, not 'soon'"),
        ("label.a-b=c", "label.a-b: expected a label's name: letters, digits and _"),
        ("EdgeDnsQueriesSurge.form=1m", "EdgeDnsQueriesSurge.form=1m: expected runbook_base=URL"),
        ("disabled", "disabled: expected runbook_base=URL"),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_made_is_refused(assignment: str, message: str) -> None:
    with pytest.raises(AssetError) as refused:
        alerts_after(assignment)
    assert str(refused.value).startswith(message)


@BY_ALERT
def test_no_text_of_an_alert_names_a_threshold(alert: Rule) -> None:
    words = " ".join(alert.annotations.values())
    assert not [
        word for word in ("minutes or more", "three times", "a quarter", "half of", "per cent") if word in words
    ]
