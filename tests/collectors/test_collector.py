from dataclasses import replace
from datetime import UTC, datetime

import pytest

from exporter.collectors.collector import Context, Outcome, Polled, TargetCollector, identity
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, Metric, MonthToDate
from exporter.platform.errors import NotFound, WrongShape
from exporter.platform.operation import Answer
from exporter.targets.target import Inventory, Target
from tests.collectors.polls import context_of
from tests.platform.callers import ScriptedCaller

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 2, 8, 12, 0, 7, tzinfo=UTC)
ZONE = Target("main", "dns_zone", "102", "example.com")


def context(known: str = "") -> Context:
    return context_of(ScriptedCaller([]), replace(ZONE, name=known))


def collector(payload: str, *, named: bool = False) -> TargetCollector[str]:
    """A collector whose payload is a number as text."""

    async def fetch(_context: Context, _target: Target) -> Answer[str]:
        return Answer(payload, LATER, b"")

    return TargetCollector(
        name="things",
        polls="dns_zone",
        interval=60,
        operations=(),
        fetch=fetch,
        labels=identity("zone_id", "thing"),
        metrics=(
            Metric("edge_things", "Things.", value=float),
            Metric("edge_thing_kinds", "Kinds.", labels=("kind",), value=lambda text: {"a": len(text)}),
            Metric("edge_things_total", "Counted.", counted=lambda text: MonthToDate(float(text))),
        ),
        tells_name=(lambda text: f"thing {text}") if named else None,
    )


def values(outcome: Outcome) -> dict[str, list[tuple[tuple[str, ...], float]]]:
    """Return the exposition of an outcome."""
    return {family.info.name: [(one.values, one.value) for one in family.samples] for family in outcome.families}


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


async def test_a_poll_whose_payload_cannot_be_measured_yields_nothing() -> None:
    with pytest.raises(WrongShape, match="edge_things cannot be read from the answer"):
        await collector("many").poll(context(), ZONE)


async def test_a_target_goes_by_the_name_that_its_answer_tells() -> None:
    for target in (ZONE, replace(ZONE, name="")):
        (outcome,) = (await collector("1", named=True).poll(context(target.name), target)).outcomes
        assert (outcome.target.name, outcome.families[0].samples[0].values[2]) == ("thing 1", "thing 1")


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
