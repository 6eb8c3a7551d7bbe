"""The collectors that the settings enable."""

import pytest

from exporter.platform.http.client import Observer
from exporter.settings.model import Settings
from exporter.wiring.clients import accesses_of, client_of
from exporter.wiring.plans import plans_of

ACCOUNT = {"name": "main", "base_url": "https://api.example.net", "api_key": "secret"}


def run(**settings: object) -> set[str]:
    """Return the collectors that these settings enable."""
    return set(plans_of(configured(**settings)))


def configured(**settings: object) -> Settings:
    return Settings.model_validate({"accounts": [ACCOUNT], **settings})


EVERYTHING = run()


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({"series": {"deny": ["edge_dns_record_scan_.*"]}}, {"dns_record_scans"}),
        ({"series": {"deny": ["edge_dns_record_scan_f.*", "dns_record_scan_.*", "edge_dns_record"]}}, set()),
        ({"series": {"deny": ["edge_container_.*", "edge_search_results"]}}, {"container_tags", "search"}),
        (
            {"series": {"allow": ["edge_dns_queries_total", "script_info", "edge_script"]}},
            EVERYTHING - {"dns_statistics", "discovery"},
        ),
        ({"series": {"allow": ["edge_.*"], "deny": ["edge_database_.*"]}}, {"database", "database_queries"}),
        ({"series": {"deny": ["edge_resources"]}}, set()),
        ({"collectors": {"scripts": {"enabled": False}}}, {"scripts"}),
    ],
)
def test_what_is_off_or_never_served_is_not_polled_for(settings: dict[str, object], gone: set[str]) -> None:
    assert EVERYTHING - run(**settings) == gone


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
    assert plans_of(settings)["pull_zones_list"].interval == listed
    changed = configured(endpoints=[endpoint | {"path": "/other?pullZone={id}"}])
    assert plans_of(changed)["pull_zones"] != plans_of(settings)["pull_zones"], "a reload uses the changed endpoint"


async def test_shards_divide_the_budget_of_an_account_and_not_that_of_a_database() -> None:
    database = {"name": "orders", "url": "https://x", "auth_token": "secret"}
    for total, of_account in ((1, (10.0, 32)), (3, (10.0 / 3, 11)), (64, (10.0 / 64, 1))):
        accesses = accesses_of(configured(databases=[database], shard={"total": total}))
        limiters = [client_of(access, Observer()).rate_limiter for access in accesses.values()]
        assert [(one.rate, one.max_in_flight) for one in limiters] == [of_account, (10.0, 32)]
