from functools import cache

import pytest
import yaml

from exporter.assets.alert_rules import RuleChangeError, parse_changes, render, threshold_names
from tests.for_each import for_each
from tests.rules.rule_files import RULES, Rule, load_alerts

SHIPPED = {path.name: path.read_text() for path in sorted(RULES.glob("*.yml"))}
BY_ALERT = for_each("alert", load_alerts(), name=lambda alert: alert.name)


def alerts_after(*assignments: str) -> dict[str, dict[str, object]]:
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
def alerts_before() -> dict[str, dict[str, object]]:
    """Return every alert of the shipped rules, rendered without a change."""
    return alerts_after("label.unused=x")


def test_without_changes_the_files_are_returned_as_they_are() -> None:
    assert render(SHIPPED, parse_changes([])) == SHIPPED


@BY_ALERT
def test_each_value_of_an_alert_changes_that_alert_alone(alert: Rule) -> None:
    name = alert.name
    before = dict(alerts_before())
    changes = [f"{name}.for=77m", f"{name}.keep_firing_for=78m", f"{name}.severity=mine", f"{name}.label.team=a"]
    changes += [f"{name}.annotation.note=b"]
    thresholds = threshold_names(str(before[name]["expr"]))
    changes += [f"{name}.threshold.{threshold}=0.{number}77" for number, threshold in enumerate(thresholds)]
    after = alerts_after("label.unused=x", *changes)
    changed = after.pop(name)
    former = before.pop(name)
    assert after == before
    assert (changed["for"], changed["keep_firing_for"]) == ("77m", "78m")
    labels, annotations = former["labels"], former["annotations"]
    assert isinstance(labels, dict)
    assert isinstance(annotations, dict)
    assert changed["labels"] == {**labels, "severity": "mine", "team": "a"}
    assert changed["annotations"] == {**annotations, "note": "b"}
    for number, threshold in enumerate(thresholds):
        lines = [line for line in str(changed["expr"]).splitlines() if line.endswith(f"# threshold: {threshold}")]
        assert lines
        assert all(f"0.{number}77  # threshold" in line for line in lines)


def test_values_of_all_alerts_change_all_of_them() -> None:
    after = alerts_after("severity.critical=page", "label.team=edge", "runbook_base=https://wiki.example.net/edge/")
    assert after.keys() == alerts_before().keys()
    for name, alert in after.items():
        labels, annotations = alert["labels"], alert["annotations"]
        assert isinstance(labels, dict)
        assert isinstance(annotations, dict)
        assert labels["team"] == "edge"
        assert labels["severity"] != "critical"
        assert annotations["runbook_url"] == f"https://wiki.example.net/edge/{name}.md"
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
    with pytest.raises(RuleChangeError) as refused:
        alerts_after(assignment)
    assert str(refused.value).startswith(message)


@BY_ALERT
def test_no_text_of_an_alert_names_a_threshold(alert: Rule) -> None:
    words = " ".join(alert.annotations.values())
    assert not [
        word for word in ("minutes or more", "three times", "a quarter", "half of", "per cent") if word in words
    ]
