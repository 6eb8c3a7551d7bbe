"""The program's own metrics."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest

from exporter.telemetry import AccountObserver, Telemetry


def lines(telemetry: Telemetry, *beginnings: str) -> list[str]:
    """Sample lines that begin so."""
    text = generate_latest(telemetry.exposed()).decode()
    return [line for line in text.splitlines() if line.startswith(beginnings)]


def test_an_attempt_is_counted_by_its_code_and_a_failure_by_its_reason() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1.2.3")
    clock: Iterator[float] = iter([5.0])
    observer = AccountObserver(telemetry, "main", lambda: next(clock))
    observer.attempted("dns_statistics", "500", 0.2, "server_error")
    seen = [observer.authenticated]
    observer.attempted("dns_statistics", "200", 0.1, None)
    assert [*seen, observer.authenticated] == [None, 5.0]
    assert lines(telemetry, "edge_api_requests_total", "edge_api_request_failures_total") == [
        'edge_api_requests_total{account="main",code="500",endpoint="dns_statistics"} 1.0',
        'edge_api_requests_total{account="main",code="200",endpoint="dns_statistics"} 1.0',
        'edge_api_request_failures_total{account="main",endpoint="dns_statistics",reason="server_error"} 1.0',
    ]


def test_a_404_that_is_no_failure_is_no_authenticated_answer_either() -> None:
    observer = AccountObserver(Telemetry(CollectorRegistry(), "1"), "main", lambda: 1.0)
    observer.attempted("dns_record_scan", "404", 0.1, None)
    assert observer.authenticated is None


def test_nothing_is_exposed_as_created() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    AccountObserver(telemetry, "main", lambda: 1.0).attempted("search", "200", 0.1, None)
    assert "_created" not in generate_latest(telemetry.exposed()).decode()


def test_what_may_be_worth_an_alert_begins_at_0() -> None:
    telemetry = Telemetry(CollectorRegistry(), "1")
    telemetry.declare_calls("main", ["search"])
    telemetry.declare_collectors(["search"])
    assert lines(telemetry, "edge_api_request_failures_total{", "edge_exporter_collector_missed_runs_total{")[0] == (
        'edge_api_request_failures_total{account="main",endpoint="search",reason="unauthorized"} 0.0'
    )
    assert lines(telemetry, "edge_exporter_collector_missed_runs_total{") == [
        'edge_exporter_collector_missed_runs_total{collector="search"} 0.0'
    ]


def test_every_family_of_ours_is_described_with_its_labels() -> None:
    described = {info.name: info for info in Telemetry(CollectorRegistry(), "1").families()}
    assert described["edge_api_requests_total"].labels == ("account", "endpoint", "code")
    assert described["edge_api_request_duration_seconds"].kind == "histogram"
    assert described["edge_script_monthly_budget_dollars"].labels == ("account", "script_id", "script")
    assert all(info.help.endswith(".") for info in described.values())
