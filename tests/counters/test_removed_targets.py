"""When targets left the platform: until they are back, are excluded, or a week has passed, whatever runs meanwhile."""

from pathlib import Path

from tests.counters.sandboxed_daemons import RunningDaemon, sandboxed_daemons

REMOVED = "edge_target_removed_timestamp_seconds"
DAY = 86400.0


async def gone(running: RunningDaemon) -> set[str]:
    """Return the targets that are shown as removed, after a further list."""
    await running.poll("discovery")
    running.daemon.polling.show_removed()
    await running.settle()
    return {target.removeprefix("dns_zone/") for target in await running.samples(REMOVED, "target")}


async def reloaded(running: RunningDaemon) -> set[str]:
    assert (await running.client.post("/-/reload")).status_code == 200
    return await gone(running)


async def test_a_removed_target_is_named_until_it_is_back_excluded_or_long_ago(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        dns, names = sandboxed.world.dns, {}
        for number in (101, 102, 103):
            names[number] = dns.zones.name(number)
        async with sandboxed.daemon() as running:
            dns.remove_zone(102)
            assert [await gone(running) for _ in range(3)] == [set(), {"102"}, {"102"}]
            assert (await running.samples(REMOVED, "account")).keys() == {"main"}
            assert (await running.samples(REMOVED, "name")).keys() == {names[102]}
        # What leaves while no exporter runs is seen by the first lists of the next run.
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
            sandboxed.later = 6.9 * DAY
            assert await gone(running) == {"103"}
            sandboxed.later = 7.1 * DAY
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
