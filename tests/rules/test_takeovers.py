"""Alerts on a target's counters fire even if another replica takes over the target."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.expressions import seconds
from tests.rules.rule_files import Case, load_case, run_cases

ALERTS = (
    "EdgeDnsQueriesDropped",
    "EdgeDnsQueriesSurge",
    "EdgeRateLimitBreachSurge",
    "EdgeScriptRequestSurge",
    "EdgeScriptRequestsHalved",
)
# The takeover happens this many seconds before the alert should fire.
BEFORE = 600.0
IDENTITY = "edge-exporter"


def alone(test: dict[str, Any]) -> list[dict[str, str]]:
    """Return the series of a case without those of a second replica."""
    first = re.search(r'instance="([^"]+)"', test["input_series"][0]["series"])
    assert first is not None
    return [one for one in test["input_series"] if first[0] in one["series"]]


def of_instance(series: str, instance: str) -> str:
    """Return a series with another instance."""
    return re.sub(r'instance="[^"]*"', f'instance="{instance}"', series)


def taken_over(test: dict[str, Any], at: float) -> dict[str, Any]:
    """Return a case in which another replica takes over every target at a time."""
    step = seconds(test["interval"])
    given: list[dict[str, str]] = []
    for one in alone(test):
        series, values = one["series"], one["values"]
        if not series.startswith("edge_exporter_"):
            # Series of targets keep their identity.
            given.append({"series": of_instance(series, IDENTITY), "values": values})
            continue
        value, count = values.split("x")
        place = int(at // step)
        given.append({"series": series, "values": f"{value}x{place - 1} stale"})
        given.append(
            {"series": of_instance(series, "another:9877"), "values": f"_x{place} {value}x{int(count) - place}"}
        )
    return {**test, "input_series": given}


def case_of(name: str) -> Case:
    """Return those tests of an alert in which it fires, with a takeover shortly before."""
    case = load_case(name)
    tests = []
    for test in case["tests"]:
        firing = [seconds(check["eval_time"]) for check in test["alert_rule_test"] if check.get("exp_alerts")]
        is_constant = all(
            re.fullmatch(r"[0-9.]+x\d+", one["values"])
            for one in alone(test)
            if one["series"].startswith("edge_exporter_")
        )
        if firing and is_constant:
            tests.append(taken_over(test, min(firing) - BEFORE))
    assert tests, name
    return Case(name, {**case, "tests": tests}, frozenset({name}))


@pytest.mark.real
def test_an_alert_fires_across_a_takeover(promtool: str, tmp_path: Path) -> None:
    run_cases(promtool, map(case_of, ALERTS), tmp_path)
