"""Families of single targets that no answer contains: labels, thresholds, and when their statistics changed."""

from json import dumps
from pathlib import Path
from typing import Any

from exporter.settings.targets import ALERTS
from tests.counters.sandboxed_daemons import sandboxed_daemons
from tests.exporter_parts import ExporterParts, account_at, configuration, exporter_parts, still

CHANGED = "edge_dns_statistics_changed_timestamp_seconds"


def told(parts: ExporterParts, family: str) -> set[str]:
    """Return the series of a family of the zones and scripts, without their account."""
    lines = (line.replace('account="main",', "") for line in parts.text().splitlines() if line.startswith(family))
    return {line.removeprefix(family) for line in lines if "dns_zone" in line or "script" in line}


async def test_targets_have_the_labels_and_thresholds_that_are_configured_for_their_names() -> None:
    world = still(dns_zones=3, scripts=1, shield_zones=2)
    world.dns.rename_zone(101, "shop-one.example")
    labels = [{"match": "^shop", "labels": {"team": "shop"}}, {"match": "one", "labels": {"team": "no", "tier": "1"}}]
    surge = {"alert": "EdgeDnsQueriesSurge", "match": "^shop"}
    thresholds: list[dict[str, Any]] = [{**surge, "value": 5}, {**surge, "match": ".", "value": 9, "account": "main"}]
    failing = {"alert": "EdgeTargetFailing", "match": "^router", "value": 4}
    account = {"labels": {"team": "web"}, "target_labels": labels, "dns_zones": {"exclude": ["blog"]}}
    more = {"thresholds": [*thresholds, failing]}
    async with exporter_parts(world=world, account=account, more=more) as parts:
        other, script = world.dns.zones.name(102), next(iter(world.scripts.scripts))
        world.scripts.rename_script(script, "router")
        assert other != "shop-one.example"
        await parts.turn(1000)
        parts.work.show()
        await parts.turn(0)
        assert told(parts, "edge_target_labels") == {
            '{target="dns_zone/101",team="shop",tier="1"} 1.0',
            '{target="dns_zone/102",team="web"} 1.0',
            '{target="dns_zone/103",team="web"} 1.0',
            f'{{target="script/{script}",team="web"}} 1.0',
        }
        assert told(parts, "edge_alert_threshold") == {
            '{alert="EdgeDnsQueriesSurge",target="dns_zone/101"} 5.0',
            '{alert="EdgeDnsQueriesSurge",target="dns_zone/102"} 9.0',
            '{alert="EdgeDnsQueriesSurge",target="dns_zone/103"} 9.0',
            f'{{alert="EdgeTargetFailing",target="script/{script}"}} 4.0',
        }
        url = parts.settings.accounts[0].base_url
        left = {"exclude": ["^router$"], "monthly_budget_dollars": {"gone": 1}}
        off = {key: {"discover": False} for key in ("dns_zones", "scripts", "shield_zones")}
        # Until the name of a configured script is known, a budget may still be for that script.
        unnamed = {"discover": False, "ids": [99], "monthly_budget_dollars": {"gone": 1}}
        accounts = [account_at(url, scripts=left), account_at(url, name="second", **{**off, "scripts": unnamed})]
        thresholds = [{**surge, "value": 7, "account": "second"}, {**surge, "value": 6}]
        parts.settings = configuration(url, {}, {"accounts": accounts, "thresholds": thresholds})
        await parts.daemon.reload()
        assert parts.value("edge_exporter_script_budget_unmatched") == 1
        assert told(parts, "edge_target_labels") == set()
        assert told(parts, "edge_alert_threshold") == {'{alert="EdgeDnsQueriesSurge",target="dns_zone/101"} 6.0'}
        assert parts.samples("edge_target_up", target=f"script/{script}") == {}
        each = [{"alert": alert, "match": ".*", "value": 1} for alert in ALERTS]
        parts.settings = configuration(url, {}, {"thresholds": each})
        await parts.daemon.reload()
        await parts.turn(1000)
        found: dict[str, set[str]] = {}
        for alert, target in parts.samples("edge_alert_threshold", account="main"):
            found.setdefault(target.partition("/")[0], set()).add(alert.removeprefix("Edge"))
        assert {kind: sorted(alerts - {"TargetFailing"}) for kind, alerts in found.items()} == {
            "account": [],
            "dns_zone": ["DnsQueriesDropped", "DnsQueriesSurge", "DnsScanFailed", "DnsStatisticsStalled"],
            "rate_limit": ["RateLimitBlocking", "RateLimitBreachSurge"],
            "script": ["ScriptRequestSurge", "ScriptRequestsHalved"],
            "shield_zone": ["LearningModeLeftOn"],
        }


async def test_shield_zones_are_chosen_by_their_pull_zones_and_with_them_their_rate_limits() -> None:
    off = {"discover": False}
    for patterns in ({"include": ["^prod-"]}, {"exclude": ["^staging-"]}):
        world = still(dns_zones=0, scripts=0, shield_zones=2)
        chosen = {"dns_zones": off, "scripts": off, "shield_zones": patterns}
        async with exporter_parts(world=world, account=chosen) as parts:
            await parts.turn(1000)
            zones = {target.id for target in parts.registry.targets("shield_zone")}
            limits = {target.attributes["shield_zone_id"] for target in parts.registry.targets("rate_limit")}
            assert (zones, limits) == ({"1"}, {"1"})


async def test_when_statistics_changed_is_kept_over_restarts(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        sandboxed.account = {"dns_zones": {"discover": False, "ids": [101, 102]}}
        async with sandboxed.daemon() as running:
            before = await running.samples(CHANGED, "zone_id")
        # Another address does not make it a change.
        sandboxed.account["base_url"] = sandboxed.sandbox.url.replace("127.0.0.1", "localhost")
        sandboxed.later = 5000.0
        async with sandboxed.daemon() as running:
            assert await running.samples(CHANGED, "zone_id") == before
            sandboxed.world.dns.add_queries(101, 7)
            await running.poll("dns_statistics")
            after = await running.samples(CHANGED, "zone_id")
    assert after["102"] == before["102"]
    assert 5000 <= after["101"] - before["101"] < 5100


async def test_a_midnight_is_no_change_of_the_statistics_and_a_query_is() -> None:
    def answer(days: dict[str, int]) -> dict[str, object]:
        chart = {f"2026-02-{day}T00:00:00Z": count for day, count in days.items()}
        return {"TotalQueriesServed": sum(days.values()), "QueriesServedChart": chart}

    week = {f"{day:02}": 5 for day in range(1, 9)}
    slid = {day: count for day, count in week.items() if day != "01"} | {"09": 0}
    seen = []
    async with exporter_parts(world=still(dns_zones=1, scripts=0, shield_zones=0)) as parts:
        for days in (week, slid, slid | {"09": 1}):
            fault = {"kind": "status", "path": "/dnszone/101/statistics", "status": 200, "body": dumps(answer(days))}
            scripted = parts.faults.add({**fault, "content_type": "application/json"})
            await parts.turn(1000)
            seen.append((parts.value(CHANGED), parts.value("edge_dns_window_queries")))
            parts.faults.remove(scripted.fault_id)
    first, second, third = seen
    assert [total for _, total in seen] == [40, 35, 36]
    assert first[0] == second[0]
    assert third[0] == (second[0] or 0) + 2000


async def test_a_budget_is_not_unmatched_before_the_list_of_scripts_was_complete() -> None:
    account, refused = {"scripts": {"monthly_budget_dollars": {"gone": 1}}}, {"kind": "status", "status": 403}
    async with exporter_parts(account=account, fault={**refused, "path": "/search"}) as parts:
        await parts.settle()
        for unmatched in (None, 1.0):
            await parts.turn(900)
            parts.work.show()
            await parts.turn(0)
            assert parts.value("edge_exporter_script_budget_unmatched") == unmatched
            parts.faults.clear()
