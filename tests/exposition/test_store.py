"""How long the results of a target's polls are served, and which of them a failed poll keeps."""

from collections.abc import Callable

import pytest

from exporter.collectors.collector import Outcome
from exporter.exposition.store import GONE, LAST_SUCCESS, TARGET_UP, TOO_LATE, Store
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.platform.errors import Deadline
from exporter.targets.target import PollKey, Target
from tests.turned_clock import TurnedClock

QUERIES = FamilyInfo("edge_dns_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
ZONE, OTHER = Target("main", "dns_zone", "101", "example.com"), Target("main", "dns_zone", "102")
START = 1_770_000_000.0


class StoreSetup:
    """A store with its clocks, and the ids of the targets that expired, one list for each check."""

    def __init__(self) -> None:
        self.wall, self.monotonic, self.lifetime = TurnedClock(START), TurnedClock(100.0), 0.0
        self.expired: list[list[str]] = []
        self.store = Store(self.wall, self.monotonic, lambda *_: self.lifetime, lambda *_: 0.0)

    def _succeed(self, target: Target, lifetime: float, values: tuple[float, ...] = (5.0,)) -> None:
        outcome = Outcome(target, tuple(Family(QUERIES, (Sample((target.id,), value),)) for value in values))
        self.lifetime, kept = lifetime, self.lifetime
        self.store.publish("dns_statistics", outcome, duration=0.1)
        self.lifetime = kept

    def _fail(self, families: tuple[Family, ...] = ()) -> None:
        self.lifetime, kept = self.lifetime or 900.0, self.lifetime
        self.store.fail("dns_statistics", Outcome(ZONE, families), Deadline("in words"), duration=0.1)
        self.lifetime = kept

    def _expire(self) -> None:
        served = [status for status in self.store.statuses.values() if status.families]
        self.store.expire()
        self.expired.append([status.target.id for status in served if not status.families])

    def _wait(self, clock: TurnedClock, seconds: float) -> None:
        clock.now += seconds

    def run(self, steps: str) -> "StoreSetup":
        """Take steps, each a word and perhaps a number: `ok:60` is a poll whose values are valid for 60 seconds."""
        run: dict[str, Callable[[float], object]] = {
            "ok": lambda lifetime: self._succeed(ZONE, lifetime),
            "other": lambda lifetime: self._succeed(OTHER, lifetime),
            "none": lambda lifetime: self._succeed(ZONE, lifetime, ()),
            "fail": lambda _: self._fail(),
            "fail-with-zero": lambda _: self._fail((Family(QUERIES, (Sample(("101",), 0.0),)),)),
            "gone": lambda _: self.store.clear(PollKey(ZONE.key, "dns_statistics")),
            "remove": lambda _: self.store.remove(ZONE, ("dns_statistics",)),
            "interval": lambda lifetime: setattr(self, "lifetime", lifetime),
            "wait": lambda seconds: self._wait(self.monotonic, seconds),
            "wall": lambda seconds: self._wait(self.wall, seconds),
            "take": lambda _: self.store.take_changes(),
            "expire": lambda _: self._expire(),
        }
        for step in steps.split():
            word, _, number = step.partition(":")
            run[word](float(number or 900))
        return self


@pytest.mark.parametrize(
    ("steps", "values"),
    [
        # One generation includes several polls: a failed poll keeps the results of a good poll before it.
        ("ok fail", [5.0]),
        ("fail ok", [5.0]),
        ("ok take fail", []),
        ("ok fail-with-zero", [0.0]),
        ("ok take none", [None]),
        ("ok none", [None]),
        ("ok take gone", [None]),
        ("ok take remove", [None]),
        ("ok take remove ok", [5.0]),
        ("ok take expire", []),
        ("ok:1 take wait:1 expire", [None]),
    ],
)
def test_a_generation_takes_what_its_last_good_poll_gave(steps: str, values: list[float | None]) -> None:
    store = StoreSetup().run(steps).store
    has_changed, updates = store.has_changed.is_set(), store.take_changes().values()
    assert (has_changed, store.has_changed.is_set()) == (bool(updates), False)
    ended = dict.fromkeys((QUERIES.name, TARGET_UP.name, LAST_SUCCESS.name), b"")
    assert not steps.endswith("remove") or list(updates) == [ended]
    lines = [update[QUERIES.name] for update in updates if QUERIES.name in update]
    assert [float(line.split()[-1]) if line else None for line in lines] == values


@pytest.mark.parametrize(
    ("steps", "expired"),
    [
        ("ok:900 fail take wait:899 expire wait:1 expire", [[], ["101"]]),
        # A longer interval extends the lifetime of a successful poll's results; a shorter one does not reduce it.
        ("ok:6 interval:57 wait:6 expire wait:50 expire wait:1 expire", [[], [], ["101"]]),
        ("ok:57 interval:6 wait:56 expire wait:1 expire", [[], ["101"]]),
        ("ok:57 interval:6 fail wait:56 expire wait:1 expire", [[], ["101"]]),
        # From the first failure on, a longer interval keeps nothing.
        ("ok:6 interval:30 wait:5 fail interval:900 wait:5 fail wait:19 expire wait:1 expire", [[], ["101"]]),
        ("ok:6 fail ok:6 interval:57 wait:6 expire wait:50 expire wait:1 expire", [[], [], ["101"]]),
        ("interval:6 fail-with-zero wait:5 fail-with-zero wait:5 expire wait:1 expire", [[], ["101"]]),
        ("ok:1 wait:10 expire wait:10 expire", [["101"], []]),
        ("ok:10 none wait:10 expire", [[]]),
        ("ok:10 gone wait:10 expire", [[]]),
        ("ok:100 other:300 wait:90 ok:100 wait:50 expire wait:50 expire wait:110 expire", [[], ["101"], ["102"]]),
        ("ok:900 wall:1000000 expire", [[]]),
    ],
)
def test_series_expire_after_their_lifetime(steps: str, expired: list[list[str]]) -> None:
    assert StoreSetup().run(steps).expired == expired


@pytest.mark.parametrize(
    ("steps", "since", "has_ended", "message"),
    [
        ("fail wall:60 fail", START, False, "in words"),
        ("fail wall:60 ok wall:60 fail", START + 120, False, "in words"),
        ("fail ok", 0.0, False, ""),
        ("interval:1 ok:1 fail wait:1 wall:60 expire", START, True, "in words"),
        ("ok:1 wait:1 wall:60 expire", START + 60, True, TOO_LATE),
        ("ok fail gone", START, True, "in words"),
        ("ok gone", 0.0, False, GONE),
        ("none:1 wait:1 expire", 0.0, False, ""),
        ("none gone", 0.0, False, ""),
    ],
)
def test_a_failure_lasts_from_its_first_poll_until_one_succeeds(
    steps: str, since: float, message: str, *, has_ended: bool
) -> None:
    (status,) = StoreSetup().run(steps).store.statuses.values()
    assert (status.since, status.up, status.message) == (since, not since, message)
    assert status.has_ended == has_ended


def test_a_poll_replaces_the_name_of_its_target_and_what_is_left_out_of_it() -> None:
    store, renamed = StoreSetup().run("ok").store, Target("main", "dns_zone", "101", "renamed.example")
    for left_out in ({QUERIES.name: 1}, {}):
        store.publish("dns_statistics", Outcome(renamed), duration=0.1, left_out=left_out)
    (status,) = store.statuses.values()
    names = [family.samples[0].values[-1] for family in status.health()]
    assert (names, status.left_out) == (["renamed.example"] * 2, {})
