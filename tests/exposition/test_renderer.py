"""When generations are rendered, and that each is consistent."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from exporter.collectors.collector import Outcome
from exporter.exposition.exposition import Exposition, Filter, Format, Generation
from exporter.exposition.renderer import EAGER_SECONDS, LONGEST_GAP, LONGEST_SILENCE, SHORTEST_GAP, Renderer
from exporter.exposition.status_board import HEALTH, StatusBoard
from exporter.exposition.store import Store
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.responsive.runtime import LONGEST_STRETCH
from exporter.targets.target import Target
from exporter.telemetry import Telemetry
from tests.polled import succeed

COLLECTOR = "dns_statistics"
INFOS = tuple(FamilyInfo(f"edge_poll_{place}", "Of a poll.", Kind.GAUGE, "", ("zone_id", "part")) for place in range(4))


@dataclass
class Clock:
    """A clock that tests set, and that sleeping advances."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    step: float = 0.0

    def __call__(self) -> float:
        """Return the time; each call advances it by a step."""
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        """Record a call of sleep, and advance the clock."""
        self.slept.append(seconds)


@dataclass(frozen=True)
class RendererSetup:
    """A renderer with its store and its clock."""

    renderer: Renderer
    store: Store
    clock: Clock

    def publish(self, number: int, turn: int, parts: int = 2, lifetime: float = 900.0) -> None:
        """Publish a poll of a zone, with the turn in every sample."""
        target = Target("main", "dns_zone", str(number))
        families = tuple(
            Family(info, tuple(Sample((target.id, str(part)), float(turn)) for part in range(parts))) for info in INFOS
        )
        succeed(self.store, COLLECTOR, Outcome(target, families), (), lifetime=lifetime, duration=0.1)

    def text(self, generation: Generation | None = None) -> str:
        """Return the text of a generation; by default of the current one."""
        return b"".join((generation or self.renderer.current).bodies[Format.TEXT].pieces).decode()

    def value(self, name: str) -> float:
        """Return the value of a family without labels."""
        return next(each.samples[0].value for each in text_string_to_metric_families(self.text()) if each.name == name)


@asynccontextmanager
async def rendering(cap: int = 1_000_000, grown: Callable[[], None] = lambda: None) -> AsyncIterator[RendererSetup]:
    """Return a renderer after its start phase, which has rendered and may render again."""
    clock = Clock()
    store = Store(StatusBoard(lambda: 1_770_000_000.0), clock)
    telemetry = Telemetry(CollectorRegistry(), "test")
    exposition = Exposition(telemetry.exposed(), cap=cap)
    exposition.declare((*INFOS, *HEALTH))
    renderer = Renderer(exposition, store, telemetry, clock, grown=grown, sleep=clock.sleep)
    try:
        clock.now += EAGER_SECONDS
        await renderer.render()
        clock.now += SHORTEST_GAP
        yield RendererSetup(renderer, store, clock)
    finally:
        renderer.close()


async def test_nothing_is_printed_where_nothing_changed() -> None:
    async with rendering() as setup:
        before = setup.renderer.current
        await setup.renderer.step()
        assert setup.renderer.current is before


async def test_generations_are_a_second_apart() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        await setup.renderer.step()
        first = setup.renderer.current
        setup.publish(101, 2)
        setup.clock.now += SHORTEST_GAP - 0.01
        await setup.renderer.step()
        assert setup.renderer.current is first
        setup.clock.now += 0.01
        await setup.renderer.step()
        assert 'edge_poll_0{part="1",zone_id="101"} 2.0\n' in setup.text()


async def test_own_metrics_are_told_anew_every_five_seconds_and_no_more_often() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        await setup.renderer.step()
        assert setup.value("edge_exporter_series") == 0.0, "reported when the first generation was printed"
        setup.clock.now += LONGEST_GAP
        await setup.renderer.step()
        assert setup.value("edge_exporter_series") == 10.0


async def test_own_metrics_are_told_anew_every_second_for_a_while_where_something_has_happened() -> None:
    async with rendering() as setup:
        setup.renderer.be_eager()
        setup.publish(101, 1)
        for _ in range(2):
            setup.clock.now += SHORTEST_GAP
            await setup.renderer.step()
        assert setup.value("edge_exporter_series") == 10.0
        setup.clock.now += EAGER_SECONDS - 2 * SHORTEST_GAP
        await setup.renderer.step()
        before = setup.renderer.current
        setup.clock.now += SHORTEST_GAP
        await setup.renderer.step()
        assert setup.renderer.current is before, "nothing changed, and it is not eager any more"


async def test_stale_series_go_without_any_poll() -> None:
    async with rendering() as setup:
        setup.publish(101, 1, lifetime=60.0)
        await setup.renderer.render()
        setup.clock.now += 60
        await setup.renderer.step()
        assert "edge_poll_0{" not in setup.text()
        assert (
            'edge_target_up{account="main",collector="dns_statistics",name="",target="dns_zone/101"} 0.0'
            in setup.text()
        )


async def test_a_generation_that_is_being_sent_is_not_touched_by_the_next() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        first = await setup.renderer.render()
        before = setup.text(first), first.bodies[Format.TEXT].gzip
        setup.publish(101, 2)
        setup.publish(102, 2)
        await setup.renderer.render()
        assert (setup.text(first), first.bodies[Format.TEXT].gzip) == before


async def test_the_press_tells_of_its_work() -> None:
    async with rendering(cap=5) as setup:
        setup.publish(101, 1, parts=4)
        setup.publish(102, 1, parts=4)
        await setup.renderer.render()
        await setup.renderer.render()
        assert setup.value("edge_exporter_series") == 4 * 4 + 4
        assert 'edge_exporter_series_dropped{family="edge_poll_3"} 4.0\n' in setup.text()
        setup.store.remove(Target("main", "dns_zone", "102"))
        await setup.renderer.render()
        await setup.renderer.render()
        assert "edge_exporter_series_dropped{" not in setup.text()


async def test_it_is_told_when_the_series_have_doubled() -> None:
    times: list[int] = []
    async with rendering(grown=lambda: times.append(1)) as setup:
        for number in range(8):
            setup.publish(number, 1)
            await setup.renderer.render()
    assert len(times) == 3, "at 1, 3 and 7 zones"


async def test_the_thread_gives_way_after_each_stretch_of_work() -> None:
    async with rendering() as setup:
        await setup.renderer.render()
        setup.clock.slept.clear()
        setup.clock.step = LONGEST_STRETCH / 3
        for number in range(30):
            setup.publish(number, 1)
        await setup.renderer.render()
        assert len(setup.clock.slept) > 5
        assert all(seconds > 0 for seconds in setup.clock.slept)


async def test_families_can_be_declared_anew() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        await setup.renderer.render()
        await setup.renderer.declare((INFOS[0],))
        await setup.renderer.render()
        assert "edge_poll_0{" in setup.text()
        assert "edge_poll_1{" not in setup.text()


async def test_it_prints_by_itself_until_it_is_stopped() -> None:
    async with rendering() as setup:
        setup.publish(101, 1)
        with patch("exporter.exposition.renderer.STEP", 0):
            running = asyncio.create_task(setup.renderer.run())
            while "edge_poll_0{" not in setup.text():  # noqa: ASYNC110 - what is waited for has no event to tell of it
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


async def test_a_press_that_prints_no_more_is_known_for_dead() -> None:
    async with rendering() as setup:
        await setup.renderer.render()
        seen = [setup.renderer.is_alive()]
        setup.clock.now += LONGEST_SILENCE
        seen.append(setup.renderer.is_alive())
        await setup.renderer.step()
        assert [*seen, setup.renderer.is_alive()] == [True, False, True]


def polls_of(exposed: str) -> dict[str, set[float]]:
    """Return zone → the turns of its samples; fail if the exposition is incomplete."""
    turns: dict[str, set[float]] = {}
    seen: set[tuple[str, ...]] = set()
    families = list(text_string_to_metric_families(exposed))
    assert len({each.name for each in families}) == len(families), "a family stands in two places"
    for each in families:
        for sample in each.samples:
            if sample.name.startswith("edge_poll_"):
                series = (sample.name, sample.labels["zone_id"], sample.labels["part"])
                assert series not in seen, "a series stands twice"
                seen.add(series)
                turns.setdefault(sample.labels["zone_id"], set()).add(sample.value)
    assert len(seen) == len(turns) * len(INFOS) * 3, "a target's families are not whole"
    return turns


async def publish_on(setup: RendererSetup, zones: int, is_over: asyncio.Event) -> None:
    """Publish polls of every zone repeatedly."""
    turn = 0
    while not is_over.is_set():
        turn += 1
        for number in range(zones):
            setup.publish(number, turn, parts=3)
            await asyncio.sleep(0)


async def print_on(setup: RendererSetup, is_over: asyncio.Event) -> None:
    """Render generations repeatedly."""
    while not is_over.is_set():
        await setup.renderer.render(own=False)


async def scrape_on(setup: RendererSetup, is_over: asyncio.Event, scrapes: set[str]) -> None:
    """Scrape compressed, plain like a slow client, and filtered, until twenty different expositions were received."""
    wanted = Filter(collectors=frozenset({COLLECTOR}))
    while len(scrapes) < 20:
        body = setup.renderer.current.bodies[Format.TEXT]
        scrapes.add(gzip.decompress(body.gzip).decode())
        pieces = []
        for piece in body.pieces:
            pieces.append(piece)
            await asyncio.sleep(0)
        scrapes.add(b"".join(pieces).decode())
        scrapes.add((await setup.renderer.select(wanted, Format.TEXT)).decode())
    is_over.set()


async def test_no_scrape_sees_a_target_s_samples_from_two_polls() -> None:
    zones, scrapes, is_over = 30, set[str](), asyncio.Event()
    with (
        patch("exporter.exposition.segments.SEGMENT_BYTES", 1000),
        patch("exporter.exposition.segments.SMALL_BYTES", 200),
    ):
        async with rendering() as setup:
            for number in range(zones):
                setup.publish(number, 0, parts=3)
            await setup.renderer.render()
            await asyncio.gather(
                publish_on(setup, zones, is_over), print_on(setup, is_over), scrape_on(setup, is_over, scrapes)
            )
    for exposed in scrapes:
        turns = polls_of(exposed)
        assert {zone: len(reported) for zone, reported in turns.items()} == {str(number): 1 for number in range(zones)}
