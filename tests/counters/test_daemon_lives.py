"""Counters over several runs of a daemon: restarts, reloads, and targets that go and come back."""

import os
import re
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.counters.sandboxed_daemons import SandboxedDaemons
from tests.waiting import until

QUERIES = "edge_dns_queries_total"
LAST_SUCCESS = "edge_target_last_success_timestamp_seconds"


async def test_names_and_last_successes_outlive_restarts_and_names_are_looked_up_at_starts_and_for_new_ids(
    sandboxed: SandboxedDaemons,
) -> None:
    # This fault changes nothing; its hits are the searches.
    searched = sandboxed.faults.add({"kind": "delay", "seconds": 0, "path": "/search"})
    off = {"discover": False}
    sandboxed.account = {"dns_zones": {"discover": False, "ids": [101]}, "scripts": off, "shield_zones": off}
    sandboxed.account["access_lists"] = [{"shield_zone_id": 1, "id": 5}]
    names = {"prod-shop.example", "blocked-networks"}
    async with sandboxed.daemon() as running:
        assert names <= (await running.samples("edge_target_up", "name")).keys()
        before = (await running.samples(LAST_SUCCESS, "target"))["dns_zone/101"]
    failing = sandboxed.faults.add({"kind": "status", "status": 500, "path_regex": "/(dnszone|shield)/.*"})
    async with sandboxed.daemon() as running:
        assert dict.fromkeys(names, 0).items() <= (await running.samples("edge_target_up", "name")).items()
        assert (await running.samples(LAST_SUCCESS, "target"))["dns_zone/101"] == pytest.approx(before, abs=5)
        assert searched.hits == 2
        sandboxed.faults.remove(failing.fault_id)
        sandboxed.account["dns_zones"] = {"discover": False, "ids": [102]}
        for _ in range(2):
            assert (await running.client.post("/-/reload")).status_code == 200
            await until(running.daemon.work.schedule.all_discovered)
            await running.settle()
            await running.poll("dns_statistics")
            domains = set(await running.samples("edge_dns_window_queries", "domain"))
            assert (domains, searched.hits) == ({sandboxed.world.dns.zones.name(102)}, 3)
    sandboxed.world.dns.rename_zone(102, "again.example")
    async with sandboxed.daemon() as running:
        await running.poll("dns_statistics")
        assert set(await running.samples("edge_dns_window_queries", "domain")) == {"again.example"}
        sandboxed.world.dns.rename_zone(102, "listed.example")
        await running.poll("discovery")
    # The list was stored with the new name, and the rows of the zone's polls with the former one.
    async with sandboxed.daemon() as running:
        await running.poll("discovery", "dns_statistics")
        assert set(await running.samples("edge_dns_window_queries", "domain")) == {"listed.example"}


async def test_a_failing_script_keeps_the_name_in_its_own_answer_after_a_restart(sandboxed: SandboxedDaemons) -> None:
    scripts = sandboxed.world.scripts
    async with sandboxed.daemon() as running:
        sandboxed.faults.add({"kind": "status", "status": 500, "path": "/search"})
        scripts.rename_script(next(iter(scripts.scripts)), "newer than the list")
        await running.poll("scripts")
    sandboxed.faults.add({"kind": "status", "status": 500, "path_regex": "/compute/.*"})
    async with sandboxed.daemon() as running:
        assert (await running.samples("edge_target_up", "name"))["newer than the list"] == 0


async def test_a_removed_zone_that_comes_back_goes_on_and_begins_anew_after_its_retention(
    sandboxed: SandboxedDaemons,
) -> None:
    dns = sandboxed.world.dns
    name = dns.zones.name(101)
    scripts = sandboxed.world.scripts.scripts
    sandboxed.account = {"scripts": {"monthly_budget_dollars": {scripts.name(next(iter(scripts))): 20}}}
    async with sandboxed.daemon() as running:
        for later, served in ((0.0, 7.0 + 5.0), (31 * 86400.0, 0.0)):
            dns.add_queries(101, 7)
            await running.poll("dns_statistics")
            dns.remove_zone(101)
            for _ in range(2):
                await running.poll("discovery")
            assert "101" not in await running.samples(QUERIES, "zone_id")
            sandboxed.later = later
            running.daemon.work.forget_removed()
            await running.settle()
            remembered = {key.target.label for key in running.daemon.work.ledger.remembered()}
            assert ("dns_zone/101" in remembered) is (served > 0)
            assert "dns_zone/102" in remembered
            dns.add_zone(name, 101)
            dns.add_queries(101, 7 + 5)
            await running.poll("discovery")
            await running.poll("dns_statistics")
            assert (await running.samples(QUERIES, "zone_id"))["101"] == served


async def test_lost_state_is_shown_and_a_ledger_that_has_ended_is_unhealthy(sandboxed: SandboxedDaemons) -> None:
    async with sandboxed.daemon():
        pass
    sandboxed.state.write_bytes(b"not a database\n" * 1000)
    async with sandboxed.daemon() as running:
        text = (await running.client.get("/metrics")).text
        (set_aside,) = re.findall(r"^edge_exporter_ledger_set_aside_timestamp_seconds (\S+)", text, re.MULTILINE)
        assert float(set_aside) == pytest.approx(time.time(), abs=60)
        assert (await running.client.get("/api/v1/status")).json()["ledger"]["set_aside"] == float(set_aside)
        assert len(list(sandboxed.state.parent.glob("*.corrupt-*"))) == 1
        assert (await running.client.get("/-/healthy")).status_code == 200
        await running.daemon.work.ledger.close()
        assert (await running.client.get("/-/healthy")).status_code == 503


async def test_without_its_state_file_a_daemon_serves_gauges_and_is_not_ready_until_it_counts(
    sandboxed: SandboxedDaemons, tmp_path: Path
) -> None:
    obstacle = tmp_path / "in the way"
    obstacle.write_text("a file where a folder should be")
    sandboxed.state = obstacle / "state.db"
    fault = f"{obstacle}/state.db: Not a directory (uid {os.geteuid()})"
    with capture_logs() as logs:
        async with sandboxed.daemon() as running:
            assert set(await running.samples("edge_dns_window_queries", "zone_id")) == {"101", "102", "103"}
            assert await running.samples(QUERIES, "zone_id") == {}
            assert "edge_exporter_ledger_up 0.0" in (await running.client.get("/metrics")).text
            assert (await running.client.get("/-/healthy")).status_code == 200
            ready, page = [await running.client.get(path) for path in ("/-/ready", "/")]
            assert (ready.status_code, ready.text) == (503, f"not ready: no counter is served: {fault}\n")
            assert f"The counters cannot be read or saved: <bdi>{fault}</bdi>." in page.text.replace("<wbr>", "")
            obstacle.unlink()
            await until(lambda: not running.daemon.work.ledger.fault)
            await running.poll("dns_statistics")
            assert set(await running.samples(QUERIES, "zone_id")) == {"101", "102", "103"}
            assert (await running.client.get("/-/ready")).status_code == 200
    assert fault in {log.get("error") for log in logs}
