"""Random tests from the sandbox's world to the served counters, compared with a second implementation of the rules.

Each step is one of: traffic today or late, up or down; breaches; costs; charts that change their form; time that
passes, minutes to 40 days, and platforms' clocks that go back, or are years ahead for an answer or more; zeros in the
middle of a month, and answers from before its beginning; polls that succeed or fail; the same answers again and again;
a state file that another process locks, or that loses a part; restarts and kills; another address of the account.
After each step, every served counter equals the value that the reference computes from the world's true values at the
last committed polls, and no counter has fallen, except to 0 at another address.
"""

import asyncio
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from starlette.types import ASGIApp
from structlog.testing import capture_logs

from exporter.blocking import one_thread
from exporter.clock import Clocks
from exporter.counters import state_file
from exporter.counters.ledger import ZERO_SECONDS
from exporter.counters.on_thread import OnThread
from exporter.counters.state_file import FileStorage
from exporter.exposition.store import Status
from exporter.platform.errors import NotFound
from exporter.platform.http.client import Client, Credential
from exporter.platform.http.rate_limiter import RateLimiter, Retry
from exporter.platform.operation import ADDRESS, spelt_alike
from exporter.sandbox.dns_zones import Chart, KeyFormat, Shape
from exporter.sandbox.faults import Faults
from exporter.sandbox.keys import API_KEY
from exporter.sandbox.sandbox_app import create_app
from exporter.sandbox.world_clock import WorldClock
from exporter.targets.target import PollKey
from tests.counters.known_world import BREACHES, KnownWorld, Poll, Watched
from tests.counters.ledger_driver import LedgerEvents
from tests.counters.life import Life
from tests.counters.reference import Dated, Month, believed_time
from tests.counters.state_locations import DatabaseLocation, FileLocation, StateLocation
from tests.platform.clients import FakeClock, opened
from tests.platform.clients import Heard as HeardCalls
from tests.postgres import Postgres
from tests.waiting import PATIENCE

# The suite runs the same few examples each time; with MODEL_EXAMPLES, which `make fuzz` sets, so many new ones.
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "6"))
EXAMPLES_ON_A_DATABASE = max(1, EXAMPLES // 3)
STEPS = 60
BEGIN = datetime(2026, 2, 26, 9, 30, tzinfo=UTC).timestamp()
DAY = 86_400
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "status": 401},
    {"kind": "status", "status": 404},
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 200, "content_type": "text/html", "body": "<html></html>"},
    {"kind": "truncate"},
    {"kind": "garbage"},
    {"kind": "status", "status": 200, "content_type": "application/json", "body": "[true]"},
)

MINUTES = st.one_of(
    st.just(0),
    st.integers(1, 90),
    st.integers(1, 90),
    st.integers(60, 3 * 24 * 60),
    st.integers(1, 40).map(lambda days: days * 24 * 60),
    # To the first second of the next day.
    st.just(-1),
)
# Today and around it, some day of the window, and its end.
DAYS_BACK = st.sampled_from([0, 0, 1, 1, 2, 12, 26, 27, 28, 29, 30, 31])
NAMES = st.sampled_from(["zone", "limit", "script"])
# How much time passes after an event, and what is polled then.
THEN = st.tuples(MINUTES, st.sets(NAMES))
Then = tuple[int, set[str]]

POLLS: Counter[str] = Counter()


class Platform(RuleBasedStateMachine):
    """A world, a client of it, and the ledger that counts it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-model-"))
        self.location = self._make_location()
        self.runner = asyncio.Runner()
        self.monkeypatch = pytest.MonkeyPatch()
        self.monkeypatch.setattr(state_file, "BUSY_SECONDS", 0.0)
        self.clock = WorldClock(BEGIN, speed=0)
        self.faults = Faults()
        # The monotonic clock and our own go on together, whatever the platform's does.
        self.monotonic = FakeClock()
        self.behind = BEGIN - self.monotonic.now
        self.answers: list[Dated] = []
        self.kept: float | None = None

    @initialize(seed=st.integers(0, 1000), busy=st.booleans())
    def make_the_world(self, seed: int, *, busy: bool) -> None:
        """A zone, a quiet rate limit and a busy one, and a script."""
        self.known_world = KnownWorld(self.clock, seed, busy=busy)
        self.watched = self.known_world.watched()
        self.life = self._begin_life()
        self.transport = Redated(create_app(self.known_world.world, self.faults), self._note_date)
        self.client = self.runner.run(self._connect())

    async def _connect(self) -> Client:
        clock = FakeClock()
        clocks = Clocks(lambda: self.known_world.now().timestamp(), clock, clock.sleep)
        return Client(
            base_url="http://sandbox",
            credential=Credential("access_key", lambda: API_KEY),
            connect=opened(self.transport),
            rate_limiter=RateLimiter(1e6, 4, clocks=clocks, throttled=lambda _seconds: None, random=lambda: 1.0),
            retry=Retry(random.Random(1).random),  # noqa: S311 - no secret
            timeout=PATIENCE,
            observer=HeardCalls(),
            clocks=clocks,
            platform_time=self._platform_time,
        )

    def _platform_time(self, date: datetime | None) -> datetime | None:
        return self.life.ledger.platform_time("main").read(date)

    def _note_date(self, date: datetime) -> None:
        self.answers.append(Dated(date, self._wall(), self.monotonic.now))

    def _wall(self) -> float:
        return self.monotonic.now + self.behind

    def _make_location(self) -> StateLocation:
        return FileLocation(self.folder)

    def _begin_life(self) -> Life:
        self.events = LedgerEvents()
        location = self.location.storage(self._wall, self.events.set_aside)
        polled = [(watched.collector, watched.target) for watched in self.watched.values()]
        # What could not be saved is tried again when the test's clock says so.
        storage = OnThread(location, one_thread("state")) if isinstance(location, FileStorage) else location
        life = Life(
            storage,
            self.events,
            Clocks(self._wall, self.monotonic),
            polled,
        )
        self.runner.run(life.open())
        # It goes on from what was believed at the last commit.
        self.answers.append(Dated(None, self._wall(), self.monotonic.now, self.kept))
        return life

    # What happens on the platform, and what is polled afterwards.

    def _go_on(self, then: Then) -> None:
        minutes, names = then
        self._wait(minutes * 60 if minutes >= 0 else DAY - self.clock.now() % DAY)
        for name in sorted(names):
            self._poll(self.watched[name], is_saved=True)

    def _wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.monotonic.now += seconds

    @rule(queries=st.integers(1, 500), then=THEN)
    def serve_queries(self, queries: int, then: Then) -> None:
        """Add traffic now."""
        self.known_world.world.dns.add_queries(self.known_world.zone, queries)
        self._go_on(then)

    @rule(queries=st.integers(-300, 300), back=DAYS_BACK, then=THEN)
    def correct_queries(self, queries: int, back: int, then: Then) -> None:
        """Correct a past day, up or down."""
        self.known_world.world.dns.add_queries(self.known_world.zone, queries, self.known_world.day(back))
        self._go_on(then)

    @rule(logged=st.integers(-5, 40), blocked=st.integers(-5, 40), back=DAYS_BACK, then=THEN)
    def breach(self, logged: int, blocked: int, back: int, then: Then) -> None:
        """Add or remove breaches today or on another day."""
        limits, day = self.known_world.world.rate_limits, self.known_world.day(back)
        limits.add_breaches(self.known_world.limit, logged=logged, blocked=blocked, day=day)
        self._go_on(then)

    @rule(cost=st.floats(0, 200), requests=st.integers(0, 10**7), then=THEN)
    def set_the_month(self, cost: float, requests: int, then: Then) -> None:
        """Correct the values of a month."""
        self.known_world.world.scripts.set_month(self.known_world.script, cost=cost, requests=requests)
        self._go_on(then)

    @rule(what=st.sampled_from(["zone", "limit"]), back=DAYS_BACK, then=THEN)
    def hide_a_day(self, what: str, back: int, then: Then) -> None:
        """Leave a day out of the answers."""
        self.known_world.hide_day(what, back)
        self._go_on(then)

    @rule(then=THEN)
    def show_all_days(self, then: Then) -> None:
        """Show missing days again."""
        self.known_world.show_all_days()
        self._go_on(then)

    @rule(chart=st.sampled_from([Chart.QUERIES, Chart.NORMAL, Chart.SMART]), shape=st.sampled_from(Shape), then=THEN)
    def change_a_charts_shape(self, chart: Chart, shape: Shape, then: Then) -> None:
        """Send a chart as null or empty, or in full again."""
        self.known_world.set_shape(chart, shape)
        self._go_on(then)

    @rule(missing=st.booleans(), then=THEN)
    def change_the_maps_shape(self, *, missing: bool, then: Then) -> None:
        """Send the map of breaches as null, or in full again."""
        self.known_world.set_no_map(missing=missing)
        self._go_on(then)

    @rule(form=st.sampled_from(KeyFormat), window=st.sampled_from([30, 30, 31]), then=THEN)
    def change_keys_and_window(self, form: KeyFormat, window: int, then: Then) -> None:
        """Write days in another form, with a window of 31 or 32 days."""
        self.known_world.set_keys(form, window)
        self._go_on(then)

    @rule(hours=st.sampled_from([1, 6, 24]), then=THEN)
    def change_the_buckets(self, hours: int, then: Then) -> None:
        """Use finer buckets, or days again."""
        self.known_world.set_hours(hours)
        self._go_on(then)

    @rule(hours=st.integers(1, 60), then=THEN)
    def turn_the_clock_back(self, hours: int, then: Then) -> None:
        """Set the platform's clock back, also over midnights and month ends."""
        self.clock.advance(-hours * 3600)
        self._go_on(then)

    @rule(plain=st.booleans(), then=THEN)
    def change_the_days_shape(self, *, plain: bool, then: Then) -> None:
        """Send the days of breaches as plain numbers, or as objects."""
        self.known_world.set_plain(plain=plain)
        self._go_on(then)

    @rule(zeros=st.integers(1, 2), then=THEN)
    def send_zeros(self, zeros: int, then: Then) -> None:
        """Send a month as 0 for one or two answers, and then in full again."""
        books, script = self.known_world.world.scripts, self.known_world.script
        month = books.true_month(script)
        books.set_month(script, cost=0.0, requests=0, cpu_ms=0.0)
        for _ in range(zeros):
            self._poll(self.watched["script"], is_saved=True)
        books.set_month(script, cost=month.cost, requests=month.requests, cpu_ms=month.cpu_ms)
        self._poll(self.watched["script"], is_saved=True)
        self._go_on(then)

    @rule(minutes=st.integers(1, 600), lags=st.lists(st.integers(0, 1500), max_size=3), then=THEN)
    def begin_a_month(self, minutes: int, lags: list[int], then: Then) -> None:
        """Begin a month, while a delayed replica sometimes still answers with the old one."""
        books, script = self.known_world.world.scripts, self.known_world.script
        self._poll(self.watched["script"], is_saved=True)
        now = self.known_world.now()
        following = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
        self._wait((following - now).total_seconds() - 60)
        self._poll(self.watched["script"], is_saved=True)
        old = books.true_month(script)
        self._wait(60 + minutes * 60)
        self._poll(self.watched["script"], is_saved=True)
        for lag in lags:
            month = books.true_month(script)
            books.set_month(script, cost=old.cost, requests=old.requests + lag % 3, cpu_ms=old.cpu_ms)
            self._poll(self.watched["script"], is_saved=True)
            books.set_month(script, cost=month.cost, requests=month.requests, cpu_ms=month.cpu_ms)
            self._wait(lag * 60)
            self._poll(self.watched["script"], is_saved=True)
        self._go_on(then)

    @rule(answers=st.lists(st.sampled_from([800, 800, 800, 900, 0]), min_size=1, max_size=5), names=st.sets(NAMES))
    def date_answers_wrong(self, answers: list[int], names: set[str]) -> None:
        """Date answers years ahead, and then correctly again."""
        for days in answers:
            self.transport.days = days
            for name in sorted(names):
                self._poll(self.watched[name], is_saved=True)
        self.transport.days = 0
        self._go_on((1, names))

    @rule(spelt=st.sampled_from(["http://sandbox", "HTTP://SandBox:80/", "http://other"]), then=THEN)
    def change_the_address(self, spelt: str, then: Then) -> None:
        """Find the account at another address, where counters start again at 0, or at the same in another spelling."""
        self.client.base_url = spelt
        self._go_on(then)

    # What the exporter does.

    @rule(then=THEN)
    def poll(self, then: Then) -> None:
        """Let time pass; polls succeed."""
        self._go_on(then)

    @rule(names=st.sets(NAMES, min_size=1), times=st.integers(2, 4), minutes=st.sampled_from([0, 1, 10, -1]))
    def poll_again(self, names: set[str], times: int, minutes: int) -> None:
        """Repeat most answers byte for byte; the UTC day may change between them."""
        for _ in range(times):
            self._go_on((minutes, names))

    @rule(name=NAMES, fault=st.sampled_from(FAULTS))
    def fail_a_poll(self, name: str, fault: Mapping[str, Any]) -> None:
        """Fail a poll, which counts nothing; after a 404 there are no series until a poll succeeds."""
        self.faults.add({**fault, "path": self.watched[name].path})
        self._fail(self.watched[name])
        self.faults.clear()

    @rule()
    def fail_a_poll_with_buckets_of_two_days(self) -> None:
        """Refuse buckets longer than a day; if days are missing, too, their length is unknown."""
        known_world = self.known_world
        if not known_world.hidden["zone"] and set(known_world.shapes.values()) == {Shape.FULL}:
            known_world.world.dns.set_bucket_hours(known_world.zone, 48)
            self._fail(self.watched["zone"])
            known_world.world.dns.set_bucket_hours(known_world.zone, known_world.hours)

    def _fail(self, watched: Watched) -> None:
        status = self._ask(watched)
        assert not status.up
        if status.reason == NotFound.reason:
            watched.expected = {}
        self._note_served(watched)

    @rule(names=st.sets(NAMES, min_size=1))
    def poll_while_the_state_is_locked(self, names: set[str]) -> None:
        """Prevent saving: unsaved counts are not served, and follow with the next commit."""
        with self.location.locked():
            for name in sorted(names):
                self._poll(self.watched[name], is_saved=False)

    @rule(then=THEN)
    def restart(self, then: Then) -> None:
        """End the process, which saves the pending counts."""
        self.runner.run(self.life.close())
        self.kept = self.life.ledger.platform_time("main").believed
        for watched in self.watched.values():
            watched.commit()
        self._live_on()
        self._go_on(then)

    @rule(names=st.sets(NAMES), then=THEN)
    def kill(self, names: set[str], then: Then) -> None:
        """Kill the process: unsaved counts are lost, and the state remains as it is."""
        with self.location.locked():
            for name in sorted(names):
                self._poll(self.watched[name], is_saved=False)
            self.location.copy_to_next_life()
        # It cannot be killed for real within this process; no one looks at its state again.
        self.runner.run(self.life.close())
        for watched in self.watched.values():
            watched.pending = []
        self._live_on()
        self._go_on(then)

    @rule(piece=st.sampled_from(["", ".lock"]), name=NAMES, then=THEN)
    def lose_a_piece(self, piece: str, name: str, then: Then) -> None:
        """Delete the state file or its lock, or cut the connections; the next commit succeeds."""
        self.location.lose(piece)
        self._poll(self.watched[name], is_saved=True)
        self._go_on(then)

    def _live_on(self) -> None:
        """Begin a run, in which nothing is served before the first poll."""
        self.life = self._begin_life()
        for watched in self.watched.values():
            watched.served, watched.expected, watched.zero_since = {}, {}, None
            watched.is_counted = False

    def _ask(self, watched: Watched) -> Status:
        return self.runner.run(self.life.poll(self.client, watched.collector, watched.target))

    def _poll(self, watched: Watched, *, is_saved: bool) -> None:
        if is_saved:
            self.monotonic.now += 1.0
        POLLS[watched.collector.name] += 1
        truth = watched.truth()
        assert self._ask(watched).up
        now = believed_time(self.answers)
        is_over = watched.zero_since is not None and self.monotonic.now - watched.zero_since >= ZERO_SECONDS
        address = spelt_alike(self.client.base_url)
        watched.pending.append(({series: self._timed(poll, now) for series, poll in truth.items()}, address, is_over))
        if is_saved:
            self.kept = self.life.ledger.platform_time("main").believed
            for other in self.watched.values():
                other.commit()
        if not watched.is_anew:
            watched.zero_since = None
        elif watched.zero_since is None and watched.is_counted:
            watched.zero_since = self.monotonic.now
        watched.expected = watched.by_the_rules() if watched.is_counted else {}
        self._note_served(watched)

    def _note_served(self, watched: Watched) -> None:
        # A target's own labels come first, and the metric's after them.
        own = len(watched.collector.labels)
        watched.served = {
            (family.info.name, sample.values[own:]): sample.value
            for family in self.life.counters(PollKey(watched.target.key, watched.collector.name))
            for sample in family.samples
        }
        if BREACHES in watched.expected:
            watched.served = {BREACHES: sum(watched.served.values())}

    def _timed(self, poll: Poll, now: datetime) -> Poll:
        """Poll at the accepted time."""
        return replace(poll, now=now, wall=self._wall()) if isinstance(poll, Month) else replace(poll, now=now)

    @precondition(lambda self: hasattr(self, "watched"))
    @invariant()
    def what_is_served_is_what_the_rules_make_of_the_truth(self) -> None:
        """Check counts exactly, and dollars and seconds to the precision of a float."""
        for watched in self.watched.values():
            assert set(watched.served) == set(watched.expected)
            for series, value in watched.served.items():
                expected = watched.expected[series]
                if expected.denominator == 1 and abs(expected) < 2**53 and "cost" not in series[0]:
                    assert value == expected, series
                else:
                    assert value == pytest.approx(float(expected), rel=1e-12, abs=1e-9), series

    @precondition(lambda self: hasattr(self, "watched"))
    @invariant()
    def no_counter_ever_falls(self) -> None:
        """No counter falls, also over restarts and kills, unless it starts again at 0."""
        for watched in self.watched.values():
            for series, value in watched.served.items():
                assert value >= watched.highest.get(series, 0.0), series
                watched.highest[series] = value

    def teardown(self) -> None:
        """Close everything."""
        if hasattr(self, "client"):
            self.runner.run(self.life.close())
            self.runner.run(self.client.aclose())
            self.known_world.world.close()
        self.runner.close()
        self.monkeypatch.undo()
        shutil.rmtree(self.folder)


class Redated(httpx.ASGITransport):
    """Dates answers a number of days ahead.

    Args:
        app: the application that answers.
        note: called with the date of each answer whose status is a success.
    """

    def __init__(self, app: ASGIApp, note: Callable[[datetime], None]) -> None:
        super().__init__(app)
        self._note = note
        self.days = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the application, at the address that the client has prepared."""
        request.url = httpx.URL(str(request.extensions[ADDRESS]))
        response = await super().handle_async_request(request)
        date = parsedate_to_datetime(response.headers["date"]) + timedelta(days=self.days)
        response.headers["date"] = format_datetime(date, usegmt=True)
        if response.is_success:
            self._note(date)
        return response


def on_database(server: Postgres) -> type[Platform]:
    """The same with a state database."""

    class OnDatabase(Platform):
        def _make_location(self) -> StateLocation:
            return DatabaseLocation(server.new_database())

    return OnDatabase


# Of Hypothesis without its decorator, which would mark it.
@pytest.mark.hypothesis
@pytest.mark.timeout(600 + 30 * EXAMPLES)
@pytest.mark.parametrize("kind", ["file", "database"])
def test_counters_are_exact_whatever_happens(kind: str, request: pytest.FixtureRequest) -> None:
    POLLS.clear()
    machine = Platform if kind == "file" else on_database(request.getfixturevalue("postgres"))
    examples = EXAMPLES if kind == "file" else EXAMPLES_ON_A_DATABASE
    with capture_logs():
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                # In CI always the same steps; elsewhere new ones each time.
                derandomize="MODEL_EXAMPLES" not in os.environ,
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert POLLS.total() > 20 * examples


@contextmanager
def driven() -> Iterator[Platform]:
    """A machine with steps chosen by the test; the served values are compared at the end."""
    machine = Platform()
    machine.make_the_world(0, busy=False)
    try:
        yield machine
        machine.what_is_served_is_what_the_rules_make_of_the_truth()
        machine.no_counter_ever_falls()
    finally:
        machine.teardown()


def test_the_date_of_an_answer_that_cannot_be_counted_is_believed_all_the_same() -> None:
    with driven() as machine:
        machine.fail_a_poll_with_buckets_of_two_days()
        machine.turn_the_clock_back(hours=24, then=(0, {"zone"}))


def test_counters_are_served_while_a_map_that_has_changed_its_shape_cannot_be_saved() -> None:
    with driven() as machine:
        machine.breach(logged=4, blocked=2, back=0, then=(0, {"limit"}))
        machine.breach(logged=3, blocked=0, back=0, then=(1, {"limit"}))
        machine.change_the_days_shape(plain=True, then=(0, set()))
        machine.poll_while_the_state_is_locked(names={"limit"})
        assert sum(machine.watched["limit"].served.values()) == 3
