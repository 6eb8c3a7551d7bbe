"""Alerts keep firing while the exporter's series are missing for four minutes."""

import math
import re
from pathlib import Path

import pytest

from tests.dashboards.expressions import seconds
from tests.for_each import for_each
from tests.rules.rule_files import Case, Rule, load_alerts, load_case, run_cases

GAP_SECONDS = 4 * 60
# Prometheus makes its series itself, or it always fires.
NOT_HELD = {"EdgeExporterDown", "EdgeWatchdog"}
# The first round of polls of 10,000 zones at 10 requests a second takes 35 minutes.
FIRST_ROUND = 35 * 60
# Metrics of an account, also recorded ones; a database has its own budget.
OF_ACCOUNT = re.compile(r"edge_(dns|script|shield|container)_|collector!~|account_collector:")
HELD = [alert for alert in load_alerts() if alert.name not in NOT_HELD]


def expanded(values: str) -> list[str]:
    """Expand promtool's notation to one sample for each step."""
    samples: list[str] = []
    for word in values.split():
        found = re.fullmatch(r"(_|stale|-?[0-9.e]+?)(?:([+-][0-9.e]+))?(?:x(\d+))?", word)
        assert found, word
        first, step, times = found[1], float(found[2] or 0), int(found[3] or 0)
        if first in ("_", "stale"):
            samples += [first] * max(times, 1)
        else:
            samples += [repr(float(first) + number * step) for number in range(times + 1)]
    return samples


def with_gap(values: str, start: float, step: float) -> str:
    """Return a series without the samples of four minutes from `start` on; times and step are in seconds."""
    samples = expanded(values)
    places = range(math.ceil(start / step), math.ceil((start + GAP_SECONDS) / step))
    for place in places[: max(0, len(samples) - places.start)]:
        samples[place] = "stale" if place == places.start else "_"
    return " ".join(samples)


@for_each("alert", HELD, name=lambda alert: alert.name)
def test_a_state_is_held_for_as_long_as_the_first_round_of_polls_may_take(alert: Rule) -> None:
    assert seconds(alert.keep_firing_for) >= (FIRST_ROUND if OF_ACCOUNT.search(alert.expr) else 600)


def case_of(alert: Rule) -> Case:
    """Return the first test of an alert in which it fires, up to a gap after the evaluation at which it does."""
    case = load_case(alert.name)
    checked = [(test, check) for test in case["tests"] for check in test.get("alert_rule_test", [])]
    test, check = next(one for one in checked if one[1].get("exp_alerts"))
    every = seconds(case["evaluation_interval"])
    # The last evaluation that promtool has made at that time.
    at = seconds(check["eval_time"]) // every * every
    step = seconds(test["interval"])
    # The evaluation before the gap and all within it, of which the first finds no sample.
    evaluations = [at + number * every for number in range(1 + math.ceil(GAP_SECONDS / every))]
    firing = f'count(ALERTS{{alertname="{alert.name}",alertstate="firing"}})'
    expected = [{"value": len(check["exp_alerts"]), "labels": "{}"}]
    with_a_gap = {
        "interval": test["interval"],
        "input_series": [{**one, "values": with_gap(one["values"], at + every, step)} for one in test["input_series"]],
        "promql_expr_test": [
            {"expr": firing, "eval_time": f"{time:.0f}s", "exp_samples": expected} for time in evaluations
        ],
    }
    return Case(alert.name, {**case, "tests": [with_a_gap]}, frozenset({alert.name}))


@pytest.mark.timeout(1800)  # it evaluates days of rules for every alert
@pytest.mark.real
def test_an_alert_fires_on_while_the_series_are_gone(promtool: str, tmp_path: Path) -> None:
    run_cases(promtool, map(case_of, HELD), tmp_path)
