"""The states of targets: which wait for their first poll, and which left the platform, whatever runs meanwhile."""

from pathlib import Path

from exporter.collectors.catalogue import CATALOGUE
from tests.counters.sandboxed_daemons import RunningDaemon, sandboxed_daemons
from tests.waiting import until

REMOVED = "edge_target_removed_timestamp_seconds"
DAY = 86400.0


async def gone(running: RunningDaemon) -> set[str]:
    """Return the targets that are shown as removed, after a further list."""
    await running.poll("discovery")
    running.daemon.work.show()
    await running.settle()
    return {target.removeprefix("dns_zone/") for target in await running.samples(REMOVED, "target")}


async def reloaded(running: RunningDaemon) -> set[str]:
    assert (await running.client.post("/-/reload")).status_code == 200
    return await gone(running)


async def test_a_removed_target_is_named_until_it_is_back_excluded_or_long_ago(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        dns = sandboxed.world.dns
        names = {number: dns.zones.name(number) for number in (101, 102, 103)}
        async with sandboxed.daemon() as running:
            dns.remove_zone(102)
            assert [await gone(running) for _ in range(3)] == [set(), {"102"}, {"102"}]
            assert (await running.samples(REMOVED, "account")).keys() == {"main"}
            assert (await running.samples(REMOVED, "name")).keys() == {names[102]}
            statuses = {"/101": 200, "/102": 200, "/999": 404, "/": 404, "": 404}
            pages = {path: await running.client.get(f"/target/dns_zone{path}") for path in statuses}
            assert {path: page.status_code for path, page in pages.items()} == statuses
            assert "left the platform" in pages["/102"].text
            assert "edge_dns_window_queries" in pages["/101"].text.replace("<wbr>", "")
            for path in ("/999", "/", ""):
                assert "the kinds are: access_list, account, " in pages[path].text
        # Targets that leave while no exporter runs are missing from the first lists of the next run.
        dns.remove_zone(103)
        async with sandboxed.daemon() as running:
            assert [await gone(running) for _ in range(2)] == [{"102", "103"}, {"102", "103"}]
            for exclude, shown in (
                ([names[101]], {"102", "103"}),
                ([names[101], names[103]], {"102"}),
                ([], {"102", "103"}),
            ):
                sandboxed.account = {"dns_zones": {"exclude": exclude}}
                assert await reloaded(running) == shown
            dns.add_zone(names[102], 102)
            assert await gone(running) == {"103"}
        # A week, and no longer than the retention of the state.
        for sandboxed.retention, days in (("2d", 2), (None, 7)):
            sandboxed.later = (days - 0.1) * DAY
            async with sandboxed.daemon() as running:
                assert await gone(running) == {"103"}
                sandboxed.later = (days + 0.1) * DAY
                assert await gone(running) == set()


async def test_another_address_of_the_platform_removes_nothing_from_it(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        async with sandboxed.daemon() as running:
            assert await gone(running) == set()
        # The same platform, as if another had other zones.
        sandboxed.account = {"base_url": sandboxed.sandbox.url.replace("127.0.0.1", "localhost")}
        sandboxed.world.dns.remove_zone(101)
        async with sandboxed.daemon() as running:
            assert [await gone(running) for _ in range(3)] == [set()] * 3
            sandboxed.world.dns.remove_zone(102)
            assert [await gone(running) for _ in range(2)] == [set(), {"102"}]


async def test_what_was_not_polled_yet_is_pending_in_the_metric_the_api_and_the_sentence(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        # Nothing is discovered; the look-up of names does not count as a target.
        sandboxed.account = {kind: {"discover": False} for kind in ("dns_zones", "scripts", "shield_zones")}
        sandboxed.account["dns_zones"]["ids"] = [101, 102]
        sandboxed.faults.add({"kind": "stall", "point": "start", "path_regex": "/dnszone/.*"})
        async with sandboxed.daemon(first_round=False) as running:

            def pending() -> float | None:
                return running.daemon.telemetry.registry.get_sample_value(
                    "edge_targets", {"account": "main", "state": "pending"}
                )

            polls = 2 * sum(collector.polls == "dns_zone" for collector in CATALOGUE)
            await until(lambda: pending() == polls)
            status = (await running.client.get("/api/v1/status")).json()
            assert (status["targets"]["pending"], status["targets"]["failing"]) == (polls, 0)
            total = sum(status["targets"].values())
            assert f">{polls} of {total} targets wait for the first poll." in (await running.client.get("/")).text
            sandboxed.faults.clear()
            await until(lambda: pending() == 0)
            assert "wait for the first poll" not in (await running.client.get("/")).text
            await running.settle()
            states = await running.samples("edge_targets", "state")
            assert states == {"up": total, "failing": 0, "pending": 0}
