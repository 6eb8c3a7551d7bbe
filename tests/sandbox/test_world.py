"""What must hold of a world at any time: sums, growth and windows; the golden has the values of one at a few times."""

import httpx

from exporter.sandbox.keys import API_KEY
from exporter.sandbox.sandbox_server import create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock


def test_a_clock_moves_by_advance_and_at_the_speed_from_when_it_is_set() -> None:
    monotonic = [5.0]
    clock = WorldClock(1_000.0, monotonic=lambda: monotonic[0])
    monotonic[0] += 10
    clock.set_speed(60.0)
    monotonic[0] += 2
    assert (clock.now(), clock.speed) == (1_000.0 + 10 + 120, 60.0)
    clock.set_speed(0.0)
    monotonic[0] += 60
    clock.advance(90)
    assert clock.now() == 1_000.0 + 10 + 120 + 90


async def test_results_beyond_the_ten_thousandth_cannot_be_reached() -> None:
    transport = httpx.ASGITransport(create_app(World(clock=WorldClock(0.0, speed=0.0), dns_zones=20_000)))
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"AccessKey": API_KEY}) as client:
        found = [(await client.get("/search", params={"from": start})).json() for start in (9_995, 10_000)]
    assert [(len(page["SearchResults"]), page["Total"]) for page in found] == [(5, 20_011), (0, 20_011)]


def test_the_seed_determines_the_world() -> None:
    first, same, other = (World(seed, WorldClock(1_770_379_200.0, speed=0.0)).dns.statistics(101) for seed in (7, 7, 8))
    assert first == same != other
