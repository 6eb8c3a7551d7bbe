"""The demo's world stays healthy for weeks, at any time of day: no alert fires without an event."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

from exporter.commands.local_platform import demo_settings
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World
from tests.rules.rule_files import load_alerts

HOUR = 3600.0
# 2026-02-08T12:00:00Z: three weeks from it go past midnights, weekends and the end of a month.
OPENING = 1_770_552_000.0
SEEDS = (1, 2)


def passing(world: World, *, hours: int, step: float = HOUR) -> Iterator[None]:
    """Let a number of hours pass, in steps."""
    for _ in range(int(hours * HOUR / step)):
        yield
        world.clock.advance(step)


def healthy_world(seed: int) -> World:
    """The demo's world, with a clock that the test sets."""
    return World(seed, WorldClock(OPENING, speed=0.0), healthy=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_settings_there_are_stays_as_it_is(seed: int) -> None:
    world = healthy_world(seed)

    def standing() -> list[object]:
        return [
            [world.access_lists.answer(each)["checksum"] for each in world.access_lists.lists.values()],
            [world.shield.fields(zone) | {"learningModeUntil": ""} for zone in world.shield.zones],
        ]

    first = standing()
    assert [different for _ in passing(world, hours=24 * 21) if (different := standing()) != first] == []
    world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_learning_mode_comes_near_its_end(seed: int) -> None:
    world = healthy_world(seed)

    def left() -> list[float]:
        ends = [world.shield.fields(zone)["learningModeUntil"] for zone in world.shield.zones]
        return [datetime.fromisoformat(end).timestamp() - world.clock.now() for end in ends if end]

    lefts = [left() for _ in passing(world, hours=24 * 21)]
    assert min(min(each) for each in lefts) >= 6 * 24 * HOUR
    world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_scan_fails_or_is_missing(seed: int) -> None:
    world = healthy_world(seed)
    zones = list(world.dns.zones)
    states = {world.scans.status(zone) for _ in passing(world, hours=24 * 7) for zone in zones}

    assert states <= {ScanStatus.PENDING, ScanStatus.IN_PROGRESS, ScanStatus.COMPLETED}
    world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_watched_tags_stay(seed: int) -> None:
    world = healthy_world(seed)
    watched = [
        (image.registry_id, image.namespace, image.name, tag)
        for image in demo_settings(world, "http://127.0.0.1:1", "127.0.0.1:0").accounts[0].images
        for tag in image.watch_tags
    ]
    assert watched
    missing = {
        (registry, namespace, name, tag)
        for _ in passing(world, hours=24 * 21)
        for registry, namespace, name, tag in watched
        if tag not in world.registries.tags(registry, namespace, name)
    }

    assert missing == set()
    world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_breaches_stay_below_what_is_an_alert(seed: int) -> None:
    (blocking,) = (alert for alert in load_alerts() if alert.name == "EdgeRateLimitBlocking")
    (sustained,) = (alert for alert in load_alerts() if alert.name == "EdgeRateLimitBreachesSustained")
    blocked_a_second, breached_a_second = (
        float(re.findall(r"> ([\d.]+)\s*# threshold: \w+$", alert.expr, re.MULTILINE)[0])
        for alert in (blocking, sustained)
    )
    world = healthy_world(seed)
    limits = list(world.rate_limits.limits)
    blocked: dict[int, list[float]] = {limit: [] for limit in limits}
    total: dict[int, list[float]] = {limit: [] for limit in limits}
    quarter = 900.0

    def counted(limit: int, day: date) -> tuple[int, int]:
        breaches = world.rate_limits.true_breaches(limit, day)
        return breaches.blocked, breaches.total

    for _ in passing(world, hours=24 * 21, step=quarter):
        # A quarter of an hour lies in one day, whose breaches rise by those of that quarter.
        day = datetime.fromtimestamp(world.clock.now(), UTC).date()
        before = {limit: counted(limit, day) for limit in limits}
        world.clock.advance(quarter - 1)
        for limit in limits:
            blocked_more, more = (after - then for after, then in zip(counted(limit, day), before[limit], strict=True))
            blocked[limit].append(blocked_more / quarter)
            total[limit].append(more / quarter)
        world.clock.advance(1 - quarter)

    assert max(max(rates) for rates in blocked.values()) < blocked_a_second
    # Eight quarters of an hour without a break are what is sustained.
    longest = 0
    for rates in total.values():
        run = 0
        for each in rates:
            run = run + 1 if each > breached_a_second else 0
            longest = max(longest, run)
    assert longest < 8
    world.close()
