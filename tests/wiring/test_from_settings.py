"""The collectors that the settings enable."""

import pytest

from exporter.settings.model import Settings
from exporter.wiring import from_settings


def run(**settings: object) -> set[str]:
    """Return the collectors that these settings enable."""
    return {plan.collector.name for plan in from_settings.plans(configured(**settings))}


def configured(**settings: object) -> Settings:
    """Return settings of one account."""
    account = {"name": "main", "base_url": "https://api.example.net", "api_key": "secret"}
    return Settings.model_validate({"accounts": [account], **settings})


EVERYTHING = run()


@pytest.mark.parametrize(
    ("series", "gone"),
    [
        ({"deny": ["edge_dns_record_scan_.*"]}, {"dns_record_scans"}),
        ({"deny": ["edge_dns_record_scan_f.*"]}, set()),
        ({"deny": ["edge_container_.*", "edge_search_results"]}, {"container_tags", "search"}),
        ({"allow": ["edge_dns_queries_total"]}, EVERYTHING - {"dns_statistics", "discovery"}),
        ({"allow": ["edge_.*"], "deny": ["edge_database_.*"]}, {"database", "database_queries"}),
        ({"deny": ["edge_resources"]}, set()),
    ],
)
def test_what_is_never_served_is_not_polled_for(series: dict[str, list[str]], gone: set[str]) -> None:
    assert EVERYTHING - run(series=series) == gone


def test_a_collector_that_is_switched_off_is_not_run() -> None:
    assert EVERYTHING - run(collectors={"scripts": {"enabled": False}}) == {"scripts"}


def test_each_collector_is_polled_as_often_as_it_is_told() -> None:
    settings = configured(collectors={"scripts": {"interval": "7m", "stale_after": "1h"}})
    plan = next(plan for plan in from_settings.plans(settings) if plan.collector.name == "scripts")
    assert (plan.interval, plan.stale_after) == (420.0, 3600.0)


@pytest.mark.parametrize(("interval", "listed"), [("10m", 3600.0), ("3h", 10_800.0)])
def test_a_list_of_an_endpoint_is_read_at_most_as_often_as_discovery_runs(interval: str, listed: float) -> None:
    endpoint = {
        "name": "pull_zones",
        "path": "/statistics?pullZone={id}",
        "each": {"list": "/pullzone", "items": "Items", "id": "Id"},
        "interval": interval,
        "label": "pull_zone",
        "metrics": [{"name": "edge_pull_zone_hits", "help": "Hits.", "value": "Hits"}],
    }
    settings = configured(endpoints=[endpoint], collectors={"discovery": {"interval": "1h"}})
    assert {plan.collector.name: plan.interval for plan in from_settings.plans(settings)}["pull_zones_list"] == listed
