"""The metric reference, and its committed copy."""

import json

from prometheus_client import CollectorRegistry

from exporter.collectors.catalogue import CATALOGUE, families
from exporter.commands.metrics import as_markdown
from exporter.exposition.status_board import HEALTH
from exporter.telemetry import Telemetry
from tests.commands.shell import invoke

OWN = tuple(Telemetry(CollectorRegistry(), "1.0").families())


def test_every_family_stands_in_the_reference_once() -> None:
    text = as_markdown()
    expected = [info.name for info in (*families(), *HEALTH, *OWN)]
    rows = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(expected)
    assert len(set(rows)) == len(rows)


def test_a_section_says_how_often_its_targets_are_polled_and_by_what() -> None:
    lines = as_markdown().splitlines()
    assert lines[lines.index("## dns_statistics") + 2] == (
        "Polled every 5m by default (`collectors.dns_statistics.interval`) with `GET /dnszone/{id}/statistics`."
    )
    assert lines[lines.index("## scripts") + 2] == (
        "Polled every 15m by default (`collectors.scripts.interval`) with `GET /compute/script/{id}`, "
        "`POST /compute/script/{id}` (only with `read: update`)."
    )
    assert lines[lines.index("## database_queries") + 2] == (
        "Polled every 1m by default (`collectors.database.interval`) with `POST /v2/pipeline`."
    )


def test_what_can_never_be_counted_is_said_of_the_scripts_counters() -> None:
    lines = as_markdown().splitlines()
    section = " ".join(lines[lines.index("## scripts") : lines.index("## shield_rate_limits")])
    assert "The rise between a month's last poll and its end is unknown, and in no counter" in section


def test_a_script_s_budget_stands_beside_its_cost() -> None:
    _, _, rest = as_markdown().partition("## scripts\n")
    assert "| `edge_script_monthly_budget_dollars` | gauge | dollars |" in rest.partition("\n## ")[0]


def test_a_family_of_the_program_has_the_unit_with_which_its_name_ends() -> None:
    for info in OWN:
        stem = info.name.removesuffix("_total")
        expected = next((unit for unit in ("seconds", "dollars") if stem.endswith(f"_{unit}")), "")
        assert (info.name, info.unit) == (info.name, expected)


def test_the_reference_is_to_be_had_as_json() -> None:
    sections = {section["section"]: section for section in json.loads(invoke("metrics", "--format", "json").out)}
    assert list(sections) == [*(collector.name for collector in CATALOGUE), "health"]
    scripts = sections["scripts"]
    assert scripts["interval"] == {"key": "collectors.scripts.interval", "default_seconds": 900.0}
    assert sections["container_tags"]["requests"] == ["POST /mc/registries/tags"]
    assert scripts["metrics"][0] == {
        "name": "edge_script_monthly_cost_dollars",
        "type": "gauge",
        "unit": "dollars",
        "labels": ["account", "script_id", "script"],
        "stability": "stable",
        "help": "Cost of the script in the UTC month to date (MonthlyCost), polled.",
    }
    assert sections["health"].keys() == {"section", "metrics"}
