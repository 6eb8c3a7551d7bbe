import re
from typing import Any

import pytest

from dashboards.generator.queries.subject import PARTS
from tests.dashboards.expressions import seconds, selected
from tests.dashboards.families import family_of
from tests.rules.rule_files import CASES, load_alerts, load_case, load_recordings

NAMES = list(dict.fromkeys(alert.name for alert in load_alerts()))


def timeline(test: dict[str, Any]) -> str:
    """Return whether an alert is quiet (-) or fires (+) at each time at which its test asks, in order."""
    checks = sorted(test.get("alert_rule_test", []), key=lambda check: seconds(check["eval_time"]))
    return "".join("+" if check.get("exp_alerts") else "-" for check in checks)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "EdgeWatchdog"])
def test_a_case_shows_an_alert_quiet_then_firing_then_resolved(name: str) -> None:
    assert any(re.search(r"-\++-", timeline(test)) for test in load_case(name)["tests"])


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_names_what_a_person_knows_and_no_id_where_a_name_is_known(name: str) -> None:
    """Promtool compares the summaries of the cases with those that it renders."""
    checks = [check for test in load_case(name)["tests"] for check in test.get("alert_rule_test", [])]
    fired = [alert for check in checks for alert in check.get("exp_alerts", [])]
    for identity, known in (part.labels for part in PARTS if len(part.labels) > 1):
        of_kind = [alert for alert in fired if identity in alert["exp_labels"]]
        named = [alert for alert in of_kind if alert["exp_labels"].get(known)]
        assert named or not of_kind, f"no case has the label {known}"
        for alert in named:
            labels, summary = alert["exp_labels"], alert["exp_annotations"]["summary"]
            assert labels[known] in summary
            assert re.search(rf"(?<![\w/]){re.escape(labels[identity])}(?![\w/])", summary) is None, summary


def test_every_case_file_is_one_of_an_alert_or_of_all() -> None:
    files = {path.name.removesuffix(".test.yml") for path in CASES.glob("*.test.yml")}
    assert files == {*NAMES, "healthy"}


def test_the_healthy_exporter_has_every_family_that_an_alert_reads() -> None:
    recorded = {recording.name: recording for recording in load_recordings()}
    read = {part.name for rule in [*load_alerts(), *recorded.values()] for part in selected(rule.expr)}
    series = [one["series"] for test in load_case("healthy")["tests"] for one in test["input_series"]]
    given = {one.partition("{")[0] for one in series}
    assert sorted({family_of(name) for name in read - set(recorded)} - {family_of(name) for name in given}) == []
