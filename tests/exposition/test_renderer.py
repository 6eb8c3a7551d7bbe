"""When generations are rendered, and that each is consistent."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from unittest.mock import patch

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from exporter.blocking import one_thread
from exporter.collectors.collector import Outcome
from exporter.exposition.exposition import Exposition, Filter, Format
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import HEALTH, Store
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.targets.target import Target
from exporter.telemetry import Telemetry
from tests.turned_clock import TurnedClock

COLLECTOR = "dns_statistics"
ZONES = 30
INFOS = tuple(FamilyInfo(f"edge_poll_{place}", "Of a poll.", Kind.GAUGE, "", ("zone_id", "part")) for place in range(4))


@dataclass
class Clock(TurnedClock):
    """A clock that tests set, and that advances each time it is read."""

    step: float = 0.0

    def __call__(self) -> float:
        """Return the time; each call advances it by a step."""
        self.now += self.step
        return self.now


@dataclass(frozen=True)
class RendererSetup:
    """A renderer with its store and its clock."""

    renderer: Renderer
    store: Store
    clock: Clock

    def publish(self, number: int, turn: int, parts: int = 2) -> None:
        """Publish a poll of a zone, with the turn in every sample."""
        target = Target("main", "dns_zone", str(number))
        families = tuple(
            Family(info, tuple(Sample((target.id, str(part)), float(turn)) for part in range(parts))) for info in INFOS
        )
        self.store.publish(COLLECTOR, Outcome(target, families), duration=0.1)

    def text(self) -> str:
        """Return the text of the current generation."""
        return b"".join(self.renderer.current.bodies[Format.TEXT].plain()).decode()

    def value(self, name: str) -> float:
        """Return the value of a family without labels."""
        return next(each.samples[0].value for each in text_string_to_metric_families(self.text()) if each.name == name)


@asynccontextmanager
async def rendering() -> AsyncIterator[RendererSetup]:
    """Return a renderer after its start phase, which has rendered and may render again."""
    clock = Clock()
    store = Store(lambda: 1_770_000_000.0, clock, lambda *_: 900.0, lambda *_: 0.0)
    telemetry = Telemetry(CollectorRegistry(), "test")
    exposition = Exposition(telemetry.registry)
    exposition.declare((*INFOS, *HEALTH), lambda _: True)
    renderer = Renderer(exposition, store, telemetry, clock, one_thread("renderer"))
    await renderer.render()
    yield RendererSetup(renderer, store, clock)


async def test_the_next_generation_waits_for_a_change_or_until_its_own_metrics_are_due() -> None:
    async with rendering() as setup:
        with patch("exporter.exposition.renderer.SHORTEST_GAP", 0.0):
            waiting = asyncio.create_task(setup.renderer.wait())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            setup.publish(101, 1)
            await waiting
            await setup.renderer.render()
            assert 'edge_poll_0{part="1",zone_id="101"} 1.0\n' in setup.text()
            with patch("exporter.exposition.renderer.LONGEST_GAP", 0.05):
                await setup.renderer.wait()


async def test_stale_series_go_without_any_poll() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        await setup.renderer.render()
        setup.clock.now += 900
        await setup.renderer.render()
        assert "edge_poll_0{" not in setup.text()
        assert (
            'edge_target_up{account="main",collector="dns_statistics",name="",target="dns_zone/101"} 0.0'
            in setup.text()
        )


async def test_its_own_metrics_say_how_long_it_took_and_how_many_series_there_are() -> None:
    async with rendering() as setup:
        setup.publish(101, 1, parts=4)
        setup.clock.step = 1.5
        await setup.renderer.render()
        setup.clock.step = 0.0
        await setup.renderer.render()
        assert setup.value("edge_exporter_render_duration_seconds") == 1.5
        await setup.renderer.render()
        assert setup.value("edge_exporter_render_duration_seconds") == 0.0
        assert setup.value("edge_exporter_series") == len(INFOS) * 4 + 2


async def scraped(setup: RendererSetup) -> set[str]:
    """Return a compressed scrape, a plain one like that of a slow client, and a filtered one."""
    body = setup.renderer.current.bodies[Format.TEXT]
    pieces = []
    for piece in body.plain():
        pieces.append(piece)
        await asyncio.sleep(0)
    filtered = await setup.renderer.select(Filter(collectors=frozenset({COLLECTOR})), Format.TEXT)
    return {each.decode() for each in (gzip.decompress(body.packed), b"".join(pieces), filtered)}


async def test_no_scrape_sees_a_target_s_samples_from_two_polls() -> None:
    scrapes = set[str]()

    async def publish(setup: RendererSetup) -> None:
        for turn in count(1):
            for number in range(ZONES):
                setup.publish(number, turn, parts=3)
                await asyncio.sleep(0)

    async def render(setup: RendererSetup) -> None:
        while True:
            await setup.renderer.render()

    with patch("exporter.exposition.compressed_segments.SEGMENT_BYTES", 1000):
        async with rendering() as setup:
            for number in range(ZONES):
                setup.publish(number, 0, parts=3)
            await setup.renderer.render()
            others = [asyncio.create_task(run(setup)) for run in (publish, render)]
            while len(scrapes) < 20:
                scrapes |= await scraped(setup)
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
    for exposed in scrapes:
        names = re.findall("^# TYPE (.*) ", exposed, re.MULTILINE)
        assert len(set(names)) == len(names), "a family stands in two places"
        samples = re.findall(r'^edge_poll_(\d){part="(\d)",zone_id="(\d+)"} (.*)$', exposed, re.MULTILINE)
        assert len({sample[:3] for sample in samples}) == len(samples) == ZONES * len(INFOS) * 3
        assert len({(zone, value) for *_, zone, value in samples}) == ZONES
