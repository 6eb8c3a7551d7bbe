"""The log shows when failures begin and end: a few by name, very many by number."""

from collections import Counter

from structlog.testing import capture_logs

from exporter.platform.errors import ServerError
from exporter.polling.failure_log import MOST_NAMED, FailureLog


def facts(zone: int, account: str = "main") -> dict[str, str]:
    """Return the facts of a zone."""
    return {"collector": "dns_statistics", "account": account, "target": f"dns_zone/{zone}", "name": "a.example"}


def test_of_very_many_the_others_are_counted_and_after_that_some_are_named_again() -> None:
    failure_log = FailureLog()
    more = {"event": "more targets fail", "reason": "server_error", "targets": 1000 - MOST_NAMED}
    for _ in range(2):
        with capture_logs() as logs:
            for zone in range(1000):
                failure_log.fails(facts(zone), "server_error", "the platform answered 500")
                failure_log.fails(facts(zone, "other"), "server_error", "the platform answered 500")
            for zone in range(MOST_NAMED):
                failure_log.fails(facts(zone), "timeout", "no answer within 10 s")
        assert Counter((line["event"], line["account"], line["reason"]) for line in logs) == {
            ("target fails", "main", "server_error"): MOST_NAMED,
            ("target fails", "other", "server_error"): MOST_NAMED,
            ("target fails", "main", "timeout"): MOST_NAMED,
        }
        with capture_logs() as logs:
            failure_log.sum_up()
            failure_log.sum_up()
        assert logs == [{**more, "account": account, "log_level": "warning"} for account in ("main", "other")]


def test_of_very_many_that_recover_the_others_are_counted() -> None:
    failure_log = FailureLog()
    with capture_logs() as logs:
        for zone in range(MOST_NAMED + 3):
            failure_log.recovers(facts(zone))
        for zone in range(MOST_NAMED):
            failure_log.recovers(facts(zone, "other"))
        failure_log.sum_up()
    (line,) = logs[2 * MOST_NAMED :]
    assert (line["event"], line["account"], line.get("targets")) == ("more targets recovered", "main", 3)


def test_a_list_is_logged_whenever_it_begins_or_ceases_to_fail_in_an_account() -> None:
    failure_log, fault = FailureLog(), ServerError("the platform answered 500")
    accounts, errors = ("main", "main", "main", "other", "main", "main"), (None, fault, fault, fault, None, fault)
    with capture_logs() as logs:
        for account, error in zip(accounts, errors, strict=True):
            failure_log.note_list("shield_zones", account, error)
    seen = [(line["account"], line["log_level"]) for line in logs]
    assert seen == [("main", "warning"), ("other", "warning"), ("main", "info"), ("main", "warning")]
