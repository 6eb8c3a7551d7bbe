"""The demo's world stays healthy for weeks, at any time of day: no alert fires without an event."""

import re
from datetime import UTC, datetime

import pytest

from exporter.commands.local_platform import demo_settings
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from tests.rules.rule_files import load_alerts

WELL = {ScanStatus.PENDING, ScanStatus.IN_PROGRESS, ScanStatus.COMPLETED}
# 2026-02-08T12:00:00Z: three weeks from it go past midnights, weekends and the end of a month.
OPENING = 1_770_552_000.0
WATCHED, QUARTER = 21 * 24 * 4, 900.0


def limit_of(alertname: str) -> float:
    """Return the threshold of an alert on breaches, a second."""
    (alert,) = (alert for alert in load_alerts() if alert.name == alertname)
    return float(re.findall(r"> ([\d.]+)\s*# threshold: \w+$", alert.expr, re.MULTILINE)[0])


class Watch:
    """What alerts could be about, seen every quarter of an hour in the demo's world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tags = [
            (image.registry_id, image.namespace, image.name, tag)
            for image in demo_settings(world, "http://127.0.0.1:1", "127.0.0.1:0").accounts[0].images
            for tag in image.watch_tags
        ]

    def standing(self) -> tuple[list[object], ...]:
        """Return the settings that never change by themselves, and the watched tags that are missing."""
        world = self.world
        return (
            [world.access_lists.answer(each)["checksum"] for each in world.access_lists.lists.values()],
            [world.shield.fields(zone) | {"learningModeUntil": ""} for zone in world.shield.zones],
            [tag for *image, tag in self.tags if tag not in world.registries.tags(*image)],
        )

    def learning_left(self) -> list[float]:
        """Return the seconds that are left of each learning mode."""
        ends = [self.world.shield.fields(zone)["learningModeUntil"] for zone in self.world.shield.zones]
        return [datetime.fromisoformat(end).timestamp() - self.world.clock.now() for end in ends if end]

    def blocked(self) -> list[float]:
        """Return each limit's blocked breaches a second of the next quarter of an hour, which then is over."""
        # It lies in one day, whose breaches rise by those of the quarter.
        day = datetime.fromtimestamp(self.world.clock.now(), UTC).date()

        def counted() -> list[int]:
            limits = self.world.rate_limits
            return [limits.true_breaches(limit, day).blocked for limit in limits.limits]

        before = counted()
        self.world.clock.advance(QUARTER - 1)
        after = counted()
        self.world.clock.advance(1)
        return [(late - early) / QUARTER for early, late in zip(before, after, strict=True)]


@pytest.mark.parametrize("seed", [1, 2])
def test_three_weeks_bring_nothing_that_is_an_alert(seed: int) -> None:
    world = World(seed, WorldClock(OPENING, speed=0.0), healthy=True)
    watch = Watch(world)
    first, blocking = watch.standing(), limit_of("EdgeRateLimitBlocking")
    assert (len(watch.tags) > 0, first[-1]) == (True, [])
    for quarter in range(WATCHED):
        if quarter % 4 == 0:
            assert watch.standing() == first
            assert min(watch.learning_left()) >= 6 * 24 * 3600
            assert {(world.scans.answer(zone) or {}).get("Status") for zone in world.dns.zones} <= WELL
        assert max(watch.blocked()) < blocking
    world.close()
