"""What polls leave of each target: its families, for how long, and its status."""

from collections.abc import Callable, Mapping

import pytest

from exporter.collectors.collector import Outcome
from exporter.exposition.store import LAST_SUCCESS, TARGET_UP, Store, Update
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.targets.target import Target
from tests.polled import fail, succeed
from tests.turned_clock import TurnedClock

QUERIES = FamilyInfo("edge_dns_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
TOTAL = FamilyInfo("edge_dns_queries_total", "Queries.", Kind.COUNTER, "", ("zone_id",))
ZONE, OTHER = Target("main", "dns_zone", "101", "example.com"), Target("main", "dns_zone", "102")
START = 1_770_000_000.0


class StoreSetup:
    """A store with its clocks, and the ids of the targets that expired, one list for each look."""

    def __init__(self, remembered: float = 0.0) -> None:
        self.clock = TurnedClock(START)
        self.monotonic = TurnedClock(100.0)
        self.lifetime = 0.0
        self.expired: list[list[str]] = []
        self.store = Store(
            self.clock,
            self.monotonic,
            lambda _collector, _target: self.lifetime,
            lambda _collector, _target: (remembered, ()),
        )

    def succeed(self, target: Target = ZONE, *, lifetime: float = 900.0, collector: str = "dns_statistics") -> None:
        """Publish a successful poll with a gauge and a counter."""
        gauge = Family(QUERIES, (Sample((target.id,), 5.0),))
        counter = Family(TOTAL, (Sample((target.id,), 7.0),))
        succeed(self.store, collector, Outcome(target, (gauge,)), (counter,), lifetime=lifetime, duration=0.1)

    def _fail(self, families: tuple[Family, ...] = ()) -> None:
        lifetime = self.lifetime or 900.0
        fail(self.store, "dns_statistics", Outcome(ZONE, families), "timeout", "in words", lifetime=lifetime)

    def _wait(self, clock: TurnedClock, seconds: float) -> None:
        clock.now += seconds

    def run(self, steps: str) -> "StoreSetup":
        """Take steps, each a word and perhaps a number: `ok:60` is a poll whose values are valid for 60 seconds."""
        run: dict[str, Callable[[float], object]] = {
            "ok": lambda lifetime: self.succeed(lifetime=lifetime),
            "other": lambda lifetime: self.succeed(OTHER, lifetime=lifetime),
            "none": lambda lifetime: succeed(self.store, "dns_statistics", Outcome(ZONE), lifetime=lifetime),
            "fail": lambda _: self._fail(),
            "fail-with-zero": lambda _: self._fail((Family(QUERIES, (Sample(("101",), 0.0),)),)),
            "gone": lambda _: self.store.clear("dns_statistics", ZONE),
            "remove": lambda _: self.store.remove(ZONE),
            "interval": lambda lifetime: setattr(self, "lifetime", lifetime),
            "wait": lambda seconds: self._wait(self.monotonic, seconds),
            "wall": lambda seconds: self._wait(self.clock, seconds),
            "take": lambda _: self.store.changes(),
            "expire": lambda _: self.expired.append([status.target.id for status in self.store.expire()]),
        }
        for step in steps.split():
            word, _, number = step.partition(":")
            run[word](float(number or 900))
        return self

    def change(self) -> Update:
        """Return the only change."""
        ((_, update),) = self.store.changes().items()
        return update


def reported(update: Update) -> dict[str, float]:
    """Return family → the value of its only sample."""
    assert len({family.info.name for family in update.families}) == len(update.families)
    return {family.info.name: family.samples[0].value for family in update.families}


POLLED = {QUERIES.name: 5.0, TOTAL.name: 7.0}
UP, DOWN = ({TARGET_UP.name: value, LAST_SUCCESS.name: START} for value in (1.0, 0.0))


@pytest.mark.parametrize(
    ("steps", "families", "whole"),
    [
        ("ok", POLLED | UP, True),
        ("fail", {TARGET_UP.name: 0.0}, False),
        ("ok take wall:300 fail", DOWN, False),
        ("ok fail", POLLED | DOWN, True),
        ("fail ok", POLLED | UP, True),
        ("ok fail-with-zero", {QUERIES.name: 0.0} | DOWN, True),
        ("ok fail take wait:900 expire", DOWN, True),
        ("ok fail gone", DOWN, True),
        ("fail gone", {TARGET_UP.name: 0.0}, False),
        ("ok take remove ok", POLLED | UP, True),
        ("ok take remove", {}, True),
    ],
)
def test_polls_change_what_is_exposed_of_a_target(steps: str, families: Mapping[str, float], whole: bool) -> None:  # noqa: FBT001
    setup = StoreSetup().run(steps)
    update = setup.change()
    assert (reported(update), update.whole) == (families, whole)
    assert not setup.store.changes()


@pytest.mark.parametrize(
    ("steps", "expired"),
    [
        ("ok:900 fail take wait:899 expire wait:1 expire", [[], ["101"]]),
        # A longer interval extends what a successful poll left, a shorter one takes nothing away early.
        ("ok:6 interval:57 wait:6 expire wait:50 expire wait:1 expire", [[], [], ["101"]]),
        ("ok:57 interval:6 wait:56 expire wait:1 expire", [[], ["101"]]),
        # From the first failure on, a longer interval keeps nothing.
        ("ok:6 interval:30 wait:5 fail interval:900 wait:5 fail wait:19 expire wait:1 expire", [[], ["101"]]),
        ("ok:6 fail ok:6 interval:57 wait:6 expire wait:50 expire wait:1 expire", [[], [], ["101"]]),
        ("interval:6 fail-with-zero interval:57 wait:6 expire wait:51 expire", [[], ["101"]]),
        ("ok:1 wait:10 expire wait:10 expire", [["101"], []]),
        ("ok:10 none wait:10 expire", [[]]),
        ("ok:10 gone wait:10 expire", [[]]),
        ("ok:100 other:300 wait:90 ok:100 wait:50 expire wait:50 expire wait:110 expire", [[], ["101"], ["102"]]),
        ("ok:900 wall:1000000 expire", [[]]),
    ],
)
def test_series_expire_after_their_lifetime(steps: str, expired: list[list[str]]) -> None:
    assert StoreSetup().run(steps).expired == expired


def test_the_last_success_of_an_earlier_run_is_remembered() -> None:
    setup = StoreSetup(remembered=1_769_999_000.0).run("fail")
    assert reported(setup.change()) == {TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_769_999_000.0}


def test_a_target_is_removed_from_one_collector_or_from_all() -> None:
    setup = StoreSetup()
    for collector in ("dns_statistics", "dns_record_scans", "other"):
        setup.succeed(collector=collector)
    setup.succeed(Target("other", "dns_zone", "101"))
    setup.store.changes()
    setup.store.remove(ZONE, "other")
    assert [key.collector for key in setup.store.changes()] == ["other"]
    setup.store.remove(ZONE)
    assert {key.collector: update.families for key, update in setup.store.changes().items()} == {
        "dns_statistics": (),
        "dns_record_scans": (),
    }
    assert [key.target.account for key, _ in setup.store.statuses()] == ["other"]
    setup.store.remove(ZONE)
    assert not setup.store.changes()


def test_a_new_name_changes_labels_and_never_the_target() -> None:
    setup = StoreSetup().run("ok")
    setup.succeed(Target("main", "dns_zone", "101", "renamed.example"))
    ((key, update),) = setup.store.changes().items()
    assert (key.target.label, update.families[-1].samples[0].values[-1]) == ("dns_zone/101", "renamed.example")
    assert [status.target.name for _, status in setup.store.statuses()] == ["renamed.example"]


def test_statuses_have_the_order_of_account_kind_and_number_also_while_targets_come_and_go() -> None:
    setup = StoreSetup()
    for key in ("b dns_zone 1", "a script 2", "a dns_zone 10", "a dns_zone 9", "a dns_zone x"):
        account, kind, target_id = key.split()
        setup.succeed(Target(account, kind, target_id))
    reading = setup.store.statuses()
    setup.store.remove(Target("a", "dns_zone", "9"))
    left = [key.target.label for key, _ in setup.store.statuses()]
    setup.succeed(OTHER)
    labels = ["a dns_zone/x", "a dns_zone/9", "a dns_zone/10", "a script/2", "b dns_zone/1"]
    assert [f"{key.target.account} {key.target.label}" for key, _ in reading] == labels
    now = [f"{key.target.account} {key.target.label}" for key, _ in setup.store.statuses()]
    assert now == [labels[0], *labels[2:], "main dns_zone/102"]
    assert len(left) == 4


@pytest.mark.parametrize(
    ("steps", "since"), [("fail wall:60 fail", START), ("fail wall:60 ok wall:60 fail", START + 120)]
)
def test_a_failure_lasts_from_its_first_poll_until_one_succeeds(steps: str, since: float) -> None:
    ((_, status),) = StoreSetup().run(steps).store.statuses()
    assert status.since == since
