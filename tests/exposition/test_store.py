"""The families that the store keeps for each target, and for how long."""

from collections.abc import Mapping

from exporter.collectors.collector import Outcome
from exporter.exposition.status_board import LAST_SUCCESS, TARGET_UP, StatusBoard
from exporter.exposition.store import Store, Update
from exporter.metric import Count, DayBuckets, Family, FamilyInfo, Kind, Sample
from exporter.targets.target import PollKey, Target
from tests.polled import fail, succeed
from tests.turned_clock import TurnedClock

QUERIES = FamilyInfo("edge_dns_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
TOTAL = FamilyInfo("edge_dns_queries_total", "Queries.", Kind.COUNTER, "", ("zone_id",))
ZONE = Target("main", "dns_zone", "101", "example.com")


class StoreSetup:
    """A store with its clocks, and the changes that it returned."""

    def __init__(self, remembered: float = 0.0) -> None:
        self.clock = TurnedClock(1_770_000_000.0)
        self.monotonic = TurnedClock(100.0)
        self.lifetime = 0.0
        self.store = Store(
            StatusBoard(self.clock, lambda _collector, _target: remembered),
            self.monotonic,
            lambda _collector, _target: self.lifetime,
        )

    def succeed(self, target: Target = ZONE, *, lifetime: float = 900.0, collector: str = "dns_statistics") -> None:
        """Publish a successful poll with a gauge and a counter."""
        gauge = Family(QUERIES, (Sample((target.id,), 5.0),))
        counter = Family(TOTAL, (Sample((target.id,), 7.0),))
        succeed(self.store, collector, Outcome(target, (gauge,)), (counter,), lifetime=lifetime, duration=0.1)

    def fail(self, target: Target = ZONE, families: tuple[Family, ...] = (), reason: str = "timeout") -> bool:
        """Record a failed poll."""
        outcome = Outcome(target, families)
        lifetime = self.lifetime or 900.0
        return fail(self.store, "dns_statistics", outcome, reason, "in words", lifetime=lifetime, duration=0.1)

    def expired(self, seconds: float) -> list[Target]:
        """Return the expired targets after a time."""
        self.monotonic.now += seconds
        return [status.target for status in self.store.expire()]

    def changes(self) -> Mapping[PollKey, Update]:
        """Return the changes since the last call."""
        return self.store.changes()

    def change(self) -> Update:
        """Return the only change."""
        ((_, update),) = self.changes().items()
        return update


def reported(update: Update) -> dict[str, float]:
    """Return family → the value of its only sample."""
    return {family.info.name: family.samples[0].value for family in update.families}


def test_a_good_poll_replaces_the_target_s_families_whole_with_its_health_beside_them() -> None:
    setup = StoreSetup()
    setup.succeed()
    update = setup.change()
    assert (reported(update), update.whole) == (
        {QUERIES.name: 5.0, TOTAL.name: 7.0, TARGET_UP.name: 1.0, LAST_SUCCESS.name: 1_770_000_000.0},
        True,
    )


def test_health_names_the_target() -> None:
    setup = StoreSetup()
    setup.succeed()
    health = next(family for family in setup.change().families if family.info is TARGET_UP)
    assert dict(zip(health.info.labels, health.samples[0].values, strict=True)) == {
        "account": "main",
        "collector": "dns_statistics",
        "target": "dns_zone/101",
        "name": "example.com",
    }


def test_a_failure_changes_the_health_alone() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.changes()
    setup.clock.now += 300
    assert setup.fail()
    update = setup.change()
    assert (reported(update), update.whole) == ({TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0}, False)


def test_a_failure_before_the_success_was_taken_carries_that_success() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.fail()
    update = setup.change()
    assert (reported(update)[QUERIES.name], reported(update)[TARGET_UP.name], update.whole) == (5.0, 0.0, True)
    assert [family.info for family in update.families].count(TARGET_UP) == 1


def test_a_success_before_a_failure_was_taken_replaces_it() -> None:
    setup = StoreSetup()
    setup.fail()
    setup.succeed()
    update = setup.change()
    assert (reported(update)[TARGET_UP.name], update.whole) == (1.0, True)


def test_a_target_that_never_succeeded_has_no_last_success() -> None:
    setup = StoreSetup()
    setup.fail()
    assert reported(setup.change()) == {TARGET_UP.name: 0.0}


def test_the_last_success_of_an_earlier_run_is_remembered() -> None:
    setup = StoreSetup(remembered=1_769_999_000.0)
    setup.fail()
    assert reported(setup.change()) == {TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_769_999_000.0}


def test_a_failure_begins_once() -> None:
    setup = StoreSetup()
    begun = [setup.fail(), setup.fail(reason="refused")]
    setup.succeed()
    begun += [setup.fail(), setup.fail()]
    assert begun == [True, False, True, False]


def test_families_that_come_with_a_failure_are_shown() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.fail(families=(Family(QUERIES, (Sample(("101",), 0.0),)),))
    update = setup.change()
    assert (reported(update), update.whole) == (
        {QUERIES.name: 0.0, TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0},
        True,
    )


def test_series_stand_until_their_lifetime_ends_and_go_then() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=900.0)
    setup.fail()
    setup.changes()
    setup.monotonic.now += 899
    assert [status.target for status in setup.store.expire()] == []
    assert not setup.store.has_changes()
    setup.monotonic.now += 1
    assert [status.target for status in setup.store.expire()] == [ZONE]
    update = setup.change()
    assert (reported(update), update.whole) == ({TARGET_UP.name: 0.0, LAST_SUCCESS.name: 1_770_000_000.0}, True)


def test_a_healthy_target_stays_for_the_longer_of_the_lifetimes_then_and_now() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=6.0)
    setup.lifetime = 57.0
    assert [setup.expired(6.0), setup.expired(50.0), setup.expired(1.0)] == [[], [], [ZONE]]


def test_an_interval_that_became_shorter_takes_nothing_away_early() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=57.0)
    setup.lifetime = 6.0
    assert [setup.expired(56.0), setup.expired(1.0)] == [[], [ZONE]]


def test_from_the_first_failure_on_a_longer_interval_keeps_nothing() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=6.0)
    setup.lifetime = 30.0
    setup.monotonic.now += 5.0
    setup.fail()
    # The interval grows on, and more polls fail.
    setup.lifetime = 900.0
    setup.monotonic.now += 5.0
    setup.fail()
    assert [setup.expired(19.0), setup.expired(1.0)] == [[], [ZONE]]


def test_families_of_a_failure_stay_for_the_longer_lifetime_too() -> None:
    setup = StoreSetup()
    setup.lifetime = 6.0
    setup.fail(families=(Family(QUERIES, (Sample(("101",), 0.0),)),))
    setup.lifetime = 57.0
    assert [setup.expired(6.0), setup.expired(51.0)] == [[], [ZONE]]


def test_what_has_expired_does_not_expire_again() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=1.0)
    setup.monotonic.now += 10
    assert len(setup.store.expire()) == 1
    setup.monotonic.now += 10
    assert setup.store.expire() == []


def test_each_success_begins_the_lifetime_anew_and_each_target_has_its_own() -> None:
    setup = StoreSetup()
    other = Target("main", "dns_zone", "102")
    setup.succeed(lifetime=100.0)
    setup.succeed(other, lifetime=300.0)
    setup.monotonic.now += 90
    setup.succeed(lifetime=100.0)
    expired = []
    for _ in range(5):
        setup.monotonic.now += 50
        expired.append([status.target.id for status in setup.store.expire()])
    assert expired == [[], ["101"], [], [], ["102"]]


def test_a_wall_clock_that_jumps_expires_nothing() -> None:
    setup = StoreSetup()
    setup.succeed(lifetime=900.0)
    setup.clock.now += 1e6
    assert setup.store.expire() == []


def test_a_target_that_is_gone_on_the_platform_keeps_its_health_only() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.fail(reason="not_found")
    setup.store.clear("dns_statistics", ZONE)
    update = setup.change()
    assert (set(reported(update)), update.whole) == ({TARGET_UP.name, LAST_SUCCESS.name}, True)


def test_a_target_that_is_removed_leaves_nothing_in_any_collector() -> None:
    setup = StoreSetup()
    setup.succeed(collector="dns_statistics")
    setup.succeed(collector="dns_record_scans")
    setup.succeed(Target("other", "dns_zone", "101"))
    setup.changes()
    setup.store.remove(ZONE)
    assert {key.collector: update.families for key, update in setup.changes().items()} == {
        "dns_statistics": (),
        "dns_record_scans": (),
    }
    assert [(key.target.account, key.target.label) for key, _ in setup.store.board.statuses()] == [
        ("other", "dns_zone/101")
    ]


def test_a_target_can_be_removed_from_one_collector() -> None:
    setup = StoreSetup()
    setup.succeed(collector="dns_statistics")
    setup.succeed(collector="dns_record_scans")
    setup.store.remove(ZONE, "dns_record_scans")
    assert [key.collector for key, _ in setup.store.board.statuses()] == ["dns_statistics"]


def test_removing_what_is_not_there_changes_nothing() -> None:
    setup = StoreSetup()
    setup.store.remove(ZONE)
    assert not setup.store.has_changes()


def test_a_target_that_comes_back_before_its_removal_was_taken_is_whole() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.changes()
    setup.store.remove(ZONE)
    setup.succeed()
    assert reported(setup.change())[QUERIES.name] == 5.0


def test_a_new_name_changes_labels_and_never_the_target() -> None:
    setup = StoreSetup()
    setup.succeed()
    setup.succeed(Target("main", "dns_zone", "101", "renamed.example"))
    ((key, update),) = setup.changes().items()
    assert (key.target.label, update.families[-1].samples[0].values[-1]) == ("dns_zone/101", "renamed.example")
    assert [status.target.name for _, status in setup.store.board.statuses()] == ["renamed.example"]


def test_statuses_stand_in_order_of_account_kind_and_number() -> None:
    setup = StoreSetup()
    targets = [("b", "dns_zone", "1"), ("a", "script", "2"), ("a", "dns_zone", "10"), ("a", "dns_zone", "9")]
    for account, kind, target_id in [*targets, ("a", "dns_zone", "x")]:
        setup.succeed(Target(account, kind, target_id))
    assert [(key.target.account, key.target.label) for key, _ in setup.store.board.statuses()] == [
        ("a", "dns_zone/x"),
        ("a", "dns_zone/9"),
        ("a", "dns_zone/10"),
        ("a", "script/2"),
        ("b", "dns_zone/1"),
    ]


def test_statuses_can_be_read_while_targets_come_and_go() -> None:
    setup = StoreSetup()
    setup.succeed()
    reading = setup.store.board.statuses()
    setup.succeed(Target("main", "dns_zone", "102"))
    setup.store.remove(ZONE)
    assert [key.target.id for key, _ in reading] == ["101"]
    assert [key.target.id for key, _ in setup.store.board.statuses()] == ["102"]


def test_changes_are_handed_on_once() -> None:
    setup = StoreSetup()
    setup.succeed()
    assert (setup.store.has_changes(), len(setup.changes()), setup.store.has_changes(), len(setup.changes())) == (
        True,
        1,
        False,
        0,
    )


def test_how_the_last_poll_went_is_known_where_there_was_one() -> None:
    setup = StoreSetup()
    seen = [setup.store.board.was_up("dns_statistics", ZONE)]
    setup.succeed()
    seen.append(setup.store.board.was_up("dns_statistics", ZONE))
    setup.fail()
    seen.append(setup.store.board.was_up("dns_statistics", ZONE))
    assert seen == [None, True, False]


def test_when_a_family_was_seen_last_is_known_until_it_is_seen_again() -> None:
    setup = StoreSetup()
    seen = []
    for counters in ((Family(TOTAL, (Sample(("101",), 7.0),)),), (), (), (Family(TOTAL, (Sample(("101",), 8.0),)),)):
        gauge = Family(QUERIES, (Sample(("101",), 5.0),))
        succeed(setup.store, "dns_statistics", Outcome(ZONE, (gauge,)), counters, lifetime=900.0)
        setup.clock.now += 300
        ((_, status),) = setup.store.board.statuses()
        seen.append(dict(status.gaps.last_seen))
    assert seen == [{}, {TOTAL.name: 1_770_000_000.0}, {TOTAL.name: 1_770_000_000.0}, {}]


def test_a_counter_that_the_answer_had_and_the_ledger_has_not_saved_is_known() -> None:
    setup = StoreSetup()
    outcome = Outcome(ZONE, counts=(Count(TOTAL, ("101",), (((), DayBuckets({20000: 5})),)),))
    succeed(setup.store, "dns_statistics", outcome, lifetime=900.0)
    ((_, status),) = setup.store.board.statuses()
    assert status.gaps.unsaved == {TOTAL.name}
