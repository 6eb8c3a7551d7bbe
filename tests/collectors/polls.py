"""Polls single collectors, and renders the results as exposition text."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from exporter.collectors.collector import Collector, Context, Polled
from exporter.counters.series import Poll, Series, advance_family
from exporter.exposition.encoding import Format, header, render
from exporter.metric import Count, Family, LabelValues, Sample
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Caller
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import Target, TargetKey
from tests.golden import assert_golden
from tests.platform.callers import ScriptedCaller

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
EXPOSITIONS = Path(__file__).parent / "expositions"


def context_of(caller: Caller, target: Target, names: Mapping[tuple[str, str], str] | None = None) -> Context:
    """Return the context of a poll, with the target's name and others by their kind and id."""
    registry = Registry(Shard())
    known = {TargetKey.of("main", kind, one): name for (kind, one), name in (names or {}).items()}
    registry.remember({target.key: target.name, **known})
    return Context(caller, registry, NOW)


async def poll(
    collector: Collector,
    target: Target,
    *answers: str | bytes | PlatformError | None,
    names: Mapping[tuple[str, str], str] | None = None,
    date: datetime | None = NOW,
) -> Polled:
    """Poll a target once, with prepared answers instead of answers of the platform."""
    return await collector.poll(context_of(ScriptedCaller(list(answers), date), target, names), target)


def exposed(collector: Collector, *polls: Polled, form: Format = Format.TEXT) -> str:
    """Return the exposition of a collector's families after some polls, with counters over all of them."""
    counters: dict[tuple[str, LabelValues], dict[LabelValues, Series]] = {}
    families: list[Family] = []
    for polled in polls:
        families = [family for outcome in polled.outcomes for family in outcome.families]
        for outcome in polled.outcomes:
            families += [_counted(count, counters, polled.date or NOW) for count in outcome.counts]
    return "".join(
        (header(info, form) + b"".join(render(family, form) for family in families if family.info == info)).decode()
        for info in collector.families
        if any(family.info == info for family in families)
    )


def _counted(count: Count, counters: dict[tuple[str, LabelValues], dict[LabelValues, Series]], now: datetime) -> Family:
    states = counters.setdefault((count.info.name, count.labels), {})
    advance_family(states, count.sources, Poll(now, now.timestamp()))
    return Family(count.info, tuple(Sample(count.labels + values, state.value) for values, state in states.items()))


def assert_as_in_file(exposition: str, name: str, folder: Path = EXPOSITIONS) -> None:
    """Compare the exposition of a collector's whole payload with its golden file."""
    assert_golden(exposition, folder / f"{name}.prom")


def samples(exposition: str, family: str) -> list[str]:
    """Return the sample lines of a family."""
    return [line for line in exposition.splitlines() if line.startswith((f"{family}{{", f"{family} "))]
