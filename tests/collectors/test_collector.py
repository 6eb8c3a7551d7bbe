from dataclasses import replace
from datetime import UTC, datetime

import pytest

from exporter.collectors.collector import (
    ACCOUNT,
    Context,
    Item,
    Label,
    ListCollector,
    Listing,
    Outcome,
    Polled,
    TargetCollector,
)
from exporter.metric import Count, DayBuckets, Family, FamilyInfo, Kind, Metric, MonthToDate, Sample
from exporter.platform.errors import NotFound, PlatformError, WrongShape
from exporter.platform.operation import Answer
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey
from tests.platform.callers import ScriptedCaller

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 2, 8, 12, 0, 7, tzinfo=UTC)
ZONE = Target("main", "dns_zone", "102", "example.com")
LIST = Target("main", "account", "main", watched=("thing",))


class Names:
    """Known names, and a list of the reported ones."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.known = known or {}
        self.reported: list[str] = []

    def name_of(self, key: TargetKey) -> str:
        """Implements `exporter.targets.target.Names`."""
        return self.known.get(key.id, "")

    def learn(self, target: Target, name: str) -> Target:
        """Implements `exporter.targets.target.Names`."""
        self.reported.append(name)
        return replace(target, name=self.known.get(target.id, name))


def context(names: Names | None = None) -> Context:
    return Context(ScriptedCaller([]), names or Names(), NOW)


def collector(payload: str | PlatformError, *, named: bool = False) -> TargetCollector[str]:
    """A collector whose payload is a number as text."""

    async def fetch(_context: Context, _target: Target) -> Answer[str]:
        if isinstance(payload, PlatformError):
            raise payload
        return Answer(payload, LATER, b"")

    return TargetCollector(
        name="things",
        polls="dns_zone",
        interval=60,
        operations=(),
        fetch=fetch,
        labels=(ACCOUNT, Label("zone_id", lambda target, _: target.id), Label("thing", lambda target, _: target.name)),
        metrics=(
            Metric("edge_things", "Things.", value=float),
            Metric("edge_thing_kinds", "Kinds.", labels=("kind",), value=lambda text: {"a": len(text)}),
            Metric("edge_things_total", "Counted.", counted=lambda text: MonthToDate(float(text))),
        ),
        tells_name=(lambda text: f"thing {text}") if named else None,
    )


def listing(*items: Item[str], whole: str = "9") -> ListCollector[str, str]:
    """A collector of a list whose items are numbers as text."""

    async def fetch(_context: Context, _target: Target) -> Answer[Listing[str, str]]:
        return Answer(Listing(whole, items), LATER, b"")

    return ListCollector(
        name="listed",
        polls="account",
        interval=60,
        operations=(),
        fetch=fetch,
        labels=(ACCOUNT,),
        metrics=(Metric("edge_listed", "Listed.", value=float),),
        item_kind="thing",
        item_labels=(
            ACCOUNT,
            Label("thing_id", lambda target, _: target.id),
            Label("thing", lambda target, _: target.name),
        ),
        item_metrics=(Metric("edge_thing", "A thing.", value=float),),
    )


def values(outcome: Outcome) -> dict[str, list[tuple[tuple[str, ...], float]]]:
    """Return the exposition of an outcome."""
    return {family.info.name: [(one.values, one.value) for one in family.samples] for family in outcome.families}


def test_a_target_is_its_account_kind_and_id() -> None:
    other = Target("main", "dns_zone", "102", "renamed.example", {"a": "b"}, ("c",), 5.0)
    assert (other == ZONE, hash(ZONE) == hash(other), ZONE.key.label) == (True, True, "dns_zone/102")
    strangers = [Target("else", "dns_zone", "102"), Target("main", "script", "102"), Target("main", "dns_zone", "103")]
    assert [stranger for stranger in strangers if stranger == ZONE] == []


def test_a_collectors_families_carry_its_targets_labels_first() -> None:
    assert collector("1").families == (
        FamilyInfo("edge_things", "Things.", Kind.GAUGE, "", ("account", "zone_id", "thing")),
        FamilyInfo("edge_thing_kinds", "Kinds.", Kind.GAUGE, "", ("account", "zone_id", "thing", "kind")),
        FamilyInfo("edge_things_total", "Counted.", Kind.COUNTER, "", ("account", "zone_id", "thing")),
    )


async def test_a_poll_yields_all_families_and_counts_of_its_target() -> None:
    polled = await collector("42").poll(context(), ZONE)
    (outcome,) = polled.outcomes
    labels = ("main", "102", "example.com")
    assert values(outcome) == {"edge_things": [(labels, 42.0)], "edge_thing_kinds": [((*labels, "a"), 2.0)]}
    (count,) = outcome.counts
    assert (count.info.name, count.labels, count.sources) == ("edge_things_total", labels, (((), MonthToDate(42.0)),))
    assert (outcome.target, outcome.error, polled.date, polled.found) == (ZONE, None, LATER, None)


async def test_a_poll_fails_with_the_calls_own_error() -> None:
    fault = NotFound("the platform answered 404", status=404)
    with pytest.raises(NotFound) as caught:
        await collector(fault).poll(context(), ZONE)
    assert caught.value is fault


async def test_a_poll_whose_payload_cannot_be_measured_yields_nothing() -> None:
    with pytest.raises(WrongShape, match="edge_things cannot be read from the answer"):
        await collector("many").poll(context(), ZONE)


async def test_a_target_goes_by_the_name_that_is_known_before_the_one_that_its_answer_tells() -> None:
    unknown, known = Names(), Names({"102": "kept"})
    reported = [(await collector("1", named=True).poll(context(names), ZONE)).outcomes[0] for names in (unknown, known)]
    assert [outcome.target.name for outcome in reported] == ["thing 1", "kept"]
    assert [outcome.families[0].samples[0].values[2] for outcome in reported] == ["thing 1", "kept"]
    assert (unknown.reported, known.reported) == (["thing 1"], ["thing 1"])


async def test_a_list_tells_of_itself_and_of_each_item() -> None:
    names = Names({"1": "one"})
    polled = await listing(Item("1", "5"), Item("2", "6")).poll(context(names), LIST)
    account, first, second = polled.outcomes
    assert (account.target, values(account)) == (LIST, {"edge_listed": [(("main",), 9.0)]})
    assert (first.target, values(first)) == (
        Target("main", "thing", "1"),
        {"edge_thing": [(("main", "1", "one"), 5.0)]},
    )
    assert (second.target, values(second)) == (Target("main", "thing", "2"), {"edge_thing": [(("main", "2", ""), 6.0)]})
    assert polled.date == LATER


async def test_an_item_that_is_wrong_fails_alone() -> None:
    fault = WrongShape("no")
    polled = await listing(Item("1", error=fault), Item("2", "many"), Item("3"), Item("4", "6")).poll(context(), LIST)
    assert [(outcome.target.id, type(outcome.error), bool(outcome.families)) for outcome in polled.outcomes] == [
        ("main", type(None), True),
        ("1", WrongShape, False),
        ("2", WrongShape, False),
        ("3", WrongShape, False),
        ("4", type(None), True),
    ]
    assert polled.outcomes[1].error is fault


async def test_a_list_that_is_wrong_as_a_whole_fails_whole() -> None:
    with pytest.raises(WrongShape):
        await listing(Item("1", "5"), whole="many").poll(context(), LIST)


def test_a_list_is_wanted_where_its_items_are_watched_for() -> None:
    assert listing().wants(LIST)
    assert not listing().wants(Target("main", "account", "main"))
    assert collector("1").wants(ZONE)


def test_a_lists_families_are_those_of_the_whole_before_those_of_an_item() -> None:
    assert [(info.name, info.labels) for info in listing().families] == [
        ("edge_listed", ("account",)),
        ("edge_thing", ("account", "thing_id", "thing")),
    ]


def test_a_roll_tells_names_by_id() -> None:
    resource_list = ResourceList((Resource("1", "one"), Resource("2")), complete=True)
    assert (resource_list.names(), Inventory({"thing": resource_list}).lists["thing"].complete) == (
        {"1": "one", "2": ""},
        True,
    )


def test_outcomes_are_values() -> None:
    family = Family(FamilyInfo("edge_a", "A.", Kind.GAUGE), (Sample((), 1.0),))
    assert Polled((Outcome(ZONE, (family,)),)) == Polled((Outcome(ZONE, (family,)),))


COUNTED = FamilyInfo("edge_thing_total", "Things, polled.", Kind.COUNTER)
PLAIN = Outcome(ZONE)
DAYS = Outcome(ZONE, counts=(Count(COUNTED, (), (((), DayBuckets({1: 2})),)),))
MONTH = Outcome(ZONE, counts=(Count(COUNTED, (), (((), MonthToDate(1.0)),)),))


@pytest.mark.parametrize(
    ("polled", "unexpected", "is_compared"),
    [
        (Polled((PLAIN,)), "", True),
        (Polled((DAYS,)), "", True),
        (Polled((MONTH,)), "", False),
        (Polled((PLAIN,)), "Status", False),
        (Polled((PLAIN, PLAIN)), "", False),
        (Polled((PLAIN,), found=Inventory({})), "", False),
        (Polled((Outcome(ZONE, error=NotFound("no")),)), "", False),
    ],
)
def test_an_answer_is_compared_where_an_equal_one_gives_an_equal_result(
    polled: Polled,
    unexpected: str,
    is_compared: bool,  # noqa: FBT001
) -> None:
    noted = polled.noting(frozenset(unexpected.split()), b"hash").outcomes[0]
    assert (noted.fingerprint == b"hash", noted.lack.unexpected) == (is_compared, frozenset(unexpected.split()))
