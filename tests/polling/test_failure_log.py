"""The log shows when failures begin and end: a few by name, very many by number."""

from collections import Counter

from structlog.testing import capture_logs

from exporter.polling.failure_log import MOST_NAMED, WINDOW_SECONDS, FailureLog
from tests.turned_clock import TurnedClock


def facts(zone: int, account: str = "main") -> dict[str, str]:
    """Return the facts of a zone."""
    return {"collector": "dns_statistics", "account": account, "target": f"dns_zone/{zone}", "name": "a.example"}


def test_of_very_many_the_others_are_counted_when_the_window_ends() -> None:
    clock = TurnedClock(0.0)
    failure_log = FailureLog(clock)
    with capture_logs() as logs:
        for zone in range(1000):
            failure_log.fails(facts(zone), "server_error", "the platform answered 500")
            failure_log.fails(facts(zone, "other"), "server_error", "the platform answered 500")
        failure_log.fails(facts(1), "timeout", "no answer within 10 s")
        failure_log.sum_up()
        assert Counter((line["event"], line["account"], line["reason"]) for line in logs) == {
            ("target fails", "main", "server_error"): MOST_NAMED,
            ("target fails", "other", "server_error"): MOST_NAMED,
            ("target fails", "main", "timeout"): 1,
        }
        logs.clear()
        clock.now = WINDOW_SECONDS
        failure_log.sum_up()
        failure_log.sum_up()
    more = {"event": "more targets fail", "reason": "server_error", "targets": 1000 - MOST_NAMED}
    assert logs == [{**more, "account": account, "log_level": "warning"} for account in ("main", "other")]


def test_the_next_window_names_again_after_it_has_told_of_the_last_and_nothing_is_lost_at_the_end() -> None:
    clock = TurnedClock(0.0)
    failure_log = FailureLog(clock)
    with capture_logs() as logs:
        for zone in range(MOST_NAMED + 3):
            failure_log.recovers(facts(zone))
        clock.now = WINDOW_SECONDS
        for zone in range(MOST_NAMED + 1):
            failure_log.recovers(facts(zone))
        failure_log.sum_up(end=True)
    assert [(line["event"], line["account"], line.get("targets")) for line in logs[MOST_NAMED:]] == [
        ("more targets recovered", "main", 3),
        *[("target recovered", "main", None)] * MOST_NAMED,
        ("more targets recovered", "main", 1),
    ]
