"""The Overview names every incident without alerts, and shows nothing in a calm hour, on Prometheus 3."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.dashboards.incidents import CALM, INCIDENTS, Incident, scene
from tests.dashboards.scene import END
from tests.dashboards.test_on_prometheus import Month, month_served, uses_of
from tests.real_parts import Release

pytestmark = pytest.mark.real("prometheus")


@contextmanager
def served(home: Path, incident: Incident, *, rules: bool = False) -> Iterator[Month]:
    """Run a Prometheus with a day and a half of data, which ends with the incident."""
    short = scene(incident, rules=rules, lasts=timedelta(minutes=95), history=timedelta(hours=27))
    home.mkdir(exist_ok=True)
    with month_served(home, short, Release.NEWEST) as month:
        yield month


def found(month: Month, title: str) -> list[dict[str, str]]:
    """Return the rows of a table of the Overview."""
    use = uses_of("edge-overview", title)[0]
    return [row["metric"] for row in sorted(month.ask(use, END), key=lambda row: -float(row["value"][1]))]


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_is_named_on_the_overview(tmp_path: Path, name: str) -> None:
    # What is usual for a zone is recorded by rules.
    with served(tmp_path, INCIDENTS[name], rules=name.startswith(("traffic", "statistics"))) as month:
        rows = found(month, "What stands out now")
    assert {(row["what"], row.get("about", "")) for row in rows} == INCIDENTS[name].finds


def test_a_calm_hour_is_calm(tmp_path: Path) -> None:
    with served(tmp_path, CALM, rules=True) as month:
        assert found(month, "What stands out now") == []
        assert month.value("edge-overview", "Alerts firing", END) == 0
        assert month.value("edge-dns", "Statistics out of date", END) == 0


def test_tiles_say_why_a_figure_is_not_known(tmp_path: Path) -> None:
    """No rules, no exporter and old data each look different from 0, and from one another."""
    with served(tmp_path / "down", INCIDENTS["the exporter is down"]) as month:
        assert month.value("edge-dns", "Statistics out of date", END) == -1
        assert month.value("edge-overview", "Targets failing", END) == -1
        assert month.value("edge-overview", "Exporters down", END) == 1
        assert month.value("edge-overview", "Alerts firing", END) == -3
    with served(tmp_path / "old", INCIDENTS["the key is refused (eu)"]) as month:
        assert month.value("edge-dns", "Statistics out of date", END) == -2


def test_a_refused_key_is_one_alert_that_a_person_sees(tmp_path: Path) -> None:
    """All alerts are in the table, the cause first; the tile counts what Alertmanager would send."""
    refused = INCIDENTS["the key is refused (eu)"]
    with served(tmp_path, refused, rules=True) as month:
        rows = found(month, "Alerts")
        assert month.value("edge-overview", "Alerts firing", END) == 1
    assert len(rows) == len(refused.alerts) == 129
    assert rows[0]["alertname"] == "EdgeCredentialRefused"
    assert len({(row["alertname"], row["about"]) for row in rows}) == len(rows)
