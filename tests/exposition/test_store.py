"""What is believed of each target, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass

from exporter.collectors.collector import Outcome
from exporter.exposition.status_board import LAST_SUCCESS, TARGET_UP, StatusBoard
from exporter.exposition.store import Store, Update
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.targets.target import PollKey, Target
from tests.polled import fail, succeed

QUERIES = FamilyInfo("edge_dns_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
TOTAL = FamilyInfo("edge_dns_queries_total", "Queries.", Kind.COUNTER, "", ("zone_id",))
ZONE = Target("main", "dns_zone", "101", "example.com")


@dataclass
class Clock:
    """A clock that tests turn."""

    now: float

    def __call__(self) -> float:
        """The time that it was turned to."""
        return self.now


class Rig:
    """A store with its clocks, and what it handed on."""

    def __init__(self, remembered: float = 0.0) -> None:
        self.clock = Clock(1_770_000_000.0)
        self.monotonic = Clock(100.0)
        self.lifetime = 0.0
        self.store = Store(
            StatusBoard(self.clock, lambda _collector, _target: remembered),
            self.monotonic,
            lambda _collector, _target: self.lifetime,
        )

    def succeed(self, target: Target = ZONE, *, lifetime: float = 900.0, collector: str = "dns_statistics") -> None:
        """Publish a good poll with a gauge and a counter."""
        gauge = Family(QUERIES, (Sample((target.id,), 5.0),))
        counter = Family(TOTAL, (Sample((target.id,), 7.0),))
        succeed(self.store, collector, Outcome(target, (gauge,)), (counter,), lifetime=lifetime, duration=0.1)

    def fail(self, target: Target = ZONE, families: tuple[Family, ...] = (), reason: str = "timeout") -> bool:
        """Note a bad poll."""
        outcome = Outcome(target, families)
        lifetime = self.lifetime or 900.0
        return fail(self.store, "dns_statistics", outcome, reason, "in words", lifetime=lifetime, duration=0.1)

    def expired(self, seconds: float) -> list[Target]:
        """What has expired when so much time has passed."""
        self.monotonic.now += seconds
        return [status.target for status in self.store.expire()]

    def changes(self) -> Mapping[PollKey, Update]:
        """What changed since this was last asked."""
        return self.store.changes()

    def change(self) -> Update:
        """The one change."""
        ((_, update),) = self.changes().items()
        return update


def told(update: Update) -> dict[str, float]:
    """Family → the value of its one sample."""
    return {family.info.name: family.samples[0].value for family in update.families}


def test_a_good_poll_replaces_the_target_s_families_whole_with_its_health_beside_them() -> None:
    rig = Rig()
    rig.succeed()
    update = rig.change()
    assert (told(update), update.whole) == (
        {QUERIES.name: 5.0, TOTAL.name: 7.0, TARGET_UP.name: 1.0, LAST_SUCCESS.name: 1_770_000_000.0},
        True,
    )


def test_health_names_the_target() -> None:
    rig = Rig()
    rig.succeed()
    health = next(family for family in rig.change().families if family.info is TARGET_UP)
    assert dict(zip(health.info.labels, health.samples[0].values, strict=True)) == {
        "account": "main",
        "collector": "dns_statistics",
        "target": "dns_zone/101",
        "name": "example.com",
    }


def test_a_failure_changes_the_health_alone() -> None:
    rig = Rig()
    rig.succeed()
    rig.changes()
    rig.clock.now += 300
    assert rig.fail()
    update = rig.change()
    assert (told(update), update.whole) == ({TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0}, False)


def test_a_failure_before_the_success_was_taken_carries_that_success() -> None:
    rig = Rig()
    rig.succeed()
    rig.fail()
    update = rig.change()
    assert (told(update)[QUERIES.name], told(update)[TARGET_UP.name], update.whole) == (5.0, 0.0, True)
    assert [family.info for family in update.families].count(TARGET_UP) == 1


def test_a_success_before_a_failure_was_taken_replaces_it() -> None:
    rig = Rig()
    rig.fail()
    rig.succeed()
    update = rig.change()
    assert (told(update)[TARGET_UP.name], update.whole) == (1.0, True)


def test_a_target_that_never_succeeded_has_no_last_success() -> None:
    rig = Rig()
    rig.fail()
    assert told(rig.change()) == {TARGET_UP.name: 0.0}


def test_the_last_success_of_an_earlier_run_is_remembered() -> None:
    rig = Rig(remembered=1_769_999_000.0)
    rig.fail()
    assert told(rig.change()) == {TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_769_999_000.0}


def test_a_failure_begins_once() -> None:
    rig = Rig()
    begun = [rig.fail(), rig.fail(reason="refused")]
    rig.succeed()
    begun += [rig.fail(), rig.fail()]
    assert begun == [True, False, True, False]


def test_families_that_come_with_a_failure_are_shown() -> None:
    rig = Rig()
    rig.succeed()
    rig.fail(families=(Family(QUERIES, (Sample(("101",), 0.0),)),))
    update = rig.change()
    assert (told(update), update.whole) == (
        {QUERIES.name: 0.0, TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0},
        True,
    )


def test_series_stand_until_their_lifetime_ends_and_go_then() -> None:
    rig = Rig()
    rig.succeed(lifetime=900.0)
    rig.fail()
    rig.changes()
    rig.monotonic.now += 899
    assert [status.target for status in rig.store.expire()] == []
    assert not rig.store.has_changes()
    rig.monotonic.now += 1
    assert [status.target for status in rig.store.expire()] == [ZONE]
    update = rig.change()
    assert (told(update), update.whole) == ({TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0}, True)


def test_a_healthy_target_stays_for_the_longer_of_the_lifetimes_then_and_now() -> None:
    rig = Rig()
    rig.succeed(lifetime=6.0)
    rig.lifetime = 57.0
    assert [rig.expired(6.0), rig.expired(50.0), rig.expired(1.0)] == [[], [], [ZONE]]


def test_an_interval_that_became_shorter_takes_nothing_away_early() -> None:
    rig = Rig()
    rig.succeed(lifetime=57.0)
    rig.lifetime = 6.0
    assert [rig.expired(56.0), rig.expired(1.0)] == [[], [ZONE]]


def test_from_the_first_failure_on_a_longer_interval_keeps_nothing() -> None:
    rig = Rig()
    rig.succeed(lifetime=6.0)
    rig.lifetime = 30.0
    rig.monotonic.now += 5.0
    rig.fail()
    # The interval grows on, and more polls fail.
    rig.lifetime = 900.0
    rig.monotonic.now += 5.0
    rig.fail()
    assert [rig.expired(19.0), rig.expired(1.0)] == [[], [ZONE]]


def test_families_of_a_failure_stay_for_the_longer_lifetime_too() -> None:
    rig = Rig()
    rig.lifetime = 6.0
    rig.fail(families=(Family(QUERIES, (Sample(("101",), 0.0),)),))
    rig.lifetime = 57.0
    assert [rig.expired(6.0), rig.expired(51.0)] == [[], [ZONE]]


def test_what_has_expired_does_not_expire_again() -> None:
    rig = Rig()
    rig.succeed(lifetime=1.0)
    rig.monotonic.now += 10
    assert len(rig.store.expire()) == 1
    rig.monotonic.now += 10
    assert rig.store.expire() == []


def test_each_success_begins_the_lifetime_anew_and_each_target_has_its_own() -> None:
    rig = Rig()
    other = Target("main", "dns_zone", "102")
    rig.succeed(lifetime=100.0)
    rig.succeed(other, lifetime=300.0)
    rig.monotonic.now += 90
    rig.succeed(lifetime=100.0)
    expired = []
    for _ in range(5):
        rig.monotonic.now += 50
        expired.append([status.target.id for status in rig.store.expire()])
    assert expired == [[], ["101"], [], [], ["102"]]


def test_a_wall_clock_that_jumps_expires_nothing() -> None:
    rig = Rig()
    rig.succeed(lifetime=900.0)
    rig.clock.now += 1e6
    assert rig.store.expire() == []


def test_a_target_that_is_gone_on_the_platform_keeps_its_health_only() -> None:
    rig = Rig()
    rig.succeed()
    rig.fail(reason="not_found")
    rig.store.clear("dns_statistics", ZONE)
    update = rig.change()
    assert (set(told(update)), update.whole) == ({TARGET_UP.name, LAST_SUCCESS.name}, True)


def test_a_target_that_is_removed_leaves_nothing_in_any_collector() -> None:
    rig = Rig()
    rig.succeed(collector="dns_statistics")
    rig.succeed(collector="dns_record_scans")
    rig.succeed(Target("other", "dns_zone", "101"))
    rig.changes()
    rig.store.remove(ZONE)
    assert {key.collector: update.families for key, update in rig.changes().items()} == {
        "dns_statistics": (),
        "dns_record_scans": (),
    }
    assert [(key.target.account, key.target.label) for key, _ in rig.store.board.statuses()] == [
        ("other", "dns_zone/101")
    ]


def test_a_target_can_be_removed_from_one_collector() -> None:
    rig = Rig()
    rig.succeed(collector="dns_statistics")
    rig.succeed(collector="dns_record_scans")
    rig.store.remove(ZONE, "dns_record_scans")
    assert [key.collector for key, _ in rig.store.board.statuses()] == ["dns_statistics"]


def test_removing_what_is_not_there_changes_nothing() -> None:
    rig = Rig()
    rig.store.remove(ZONE)
    assert not rig.store.has_changes()


def test_a_target_that_comes_back_before_its_removal_was_taken_is_whole() -> None:
    rig = Rig()
    rig.succeed()
    rig.changes()
    rig.store.remove(ZONE)
    rig.succeed()
    assert told(rig.change())[QUERIES.name] == 5.0


def test_a_new_name_changes_labels_and_never_the_target() -> None:
    rig = Rig()
    rig.succeed()
    rig.succeed(Target("main", "dns_zone", "101", "renamed.example"))
    ((key, update),) = rig.changes().items()
    assert (key.target.label, update.families[-1].samples[0].values[-1]) == ("dns_zone/101", "renamed.example")
    assert [status.target.name for _, status in rig.store.board.statuses()] == ["renamed.example"]


def test_statuses_stand_in_order_of_account_kind_and_number() -> None:
    rig = Rig()
    targets = [("b", "dns_zone", "1"), ("a", "script", "2"), ("a", "dns_zone", "10"), ("a", "dns_zone", "9")]
    for account, kind, target_id in [*targets, ("a", "dns_zone", "x")]:
        rig.succeed(Target(account, kind, target_id))
    assert [(key.target.account, key.target.label) for key, _ in rig.store.board.statuses()] == [
        ("a", "dns_zone/x"),
        ("a", "dns_zone/9"),
        ("a", "dns_zone/10"),
        ("a", "script/2"),
        ("b", "dns_zone/1"),
    ]


def test_statuses_can_be_read_while_targets_come_and_go() -> None:
    rig = Rig()
    rig.succeed()
    reading = rig.store.board.statuses()
    rig.succeed(Target("main", "dns_zone", "102"))
    rig.store.remove(ZONE)
    assert [key.target.id for key, _ in reading] == ["101"]
    assert [key.target.id for key, _ in rig.store.board.statuses()] == ["102"]


def test_changes_are_handed_on_once() -> None:
    rig = Rig()
    rig.succeed()
    assert (rig.store.has_changes(), len(rig.changes()), rig.store.has_changes(), len(rig.changes())) == (
        True,
        1,
        False,
        0,
    )


def test_how_the_last_poll_went_is_known_where_there_was_one() -> None:
    rig = Rig()
    seen = [rig.store.board.was_up("dns_statistics", ZONE)]
    rig.succeed()
    seen.append(rig.store.board.was_up("dns_statistics", ZONE))
    rig.fail()
    seen.append(rig.store.board.was_up("dns_statistics", ZONE))
    assert seen == [None, True, False]
