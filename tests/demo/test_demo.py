"""The demo serves every family, and its values change."""

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.catalogue import families
from exporter.exposition.store import HEALTH
from tests.demo.running_demo import Served
from tests.deploy.files import run
from tests.real_parts import Prometheus
from tests.waiting import settled, wait_until


def test_every_family_of_the_catalogue_has_series(demo: Served) -> None:
    def missing() -> list[str]:
        exposed = [family for family in parse_text(demo.get("/metrics").text) if family.samples]
        names = {f"{family.name}_total" if family.type == "counter" else family.name for family in exposed}
        return [info.name for info in (*families(), *HEALTH) if info.name not in names]

    assert settled(missing, []) == []


def test_values_are_not_zero_and_move(demo: Served) -> None:
    def day_queries() -> float:
        text = demo.get("/metrics?name[]=edge_dns_day_queries").text
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if not line.startswith("#"))

    first = day_queries()
    assert first > 0
    wait_until(lambda: day_queries() > first, "more queries")


@pytest.mark.real("prometheus")
def test_promtool_finds_nothing_in_the_whole_exposition(demo: Served) -> None:
    checked = run("promtool", "check", "metrics", input=demo.get("/metrics").text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.real("prometheus")
def test_no_alert_fires_on_a_healthy_demo_even_where_none_waits(prometheus: Prometheus) -> None:
    wait_until(lambda: bool(prometheus.ask("count_over_time(edge_up[10m]) >= 20")), "twenty scrapes")
    # Counted from the second evaluation after the first scrape; before it, the rules see no exporter.
    # EdgeTargetFailing is left out: on a busy machine, two of the demo's short intervals may pass without a poll.
    chosen = 'alertstate="firing",alertname!~"EdgeWatchdog|EdgeTargetFailing"'
    fired = prometheus.ask(f"count by (alertname, name) (max_over_time(ALERTS{{{chosen}}}[16s]))")
    assert [alert["metric"] for alert in fired] == []
