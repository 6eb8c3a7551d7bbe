"""Polls single collectors, and renders the results as exposition text."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from exporter.collectors.collector import Collector, Context, Polled
from exporter.counters import days, series
from exporter.counters.series import Series
from exporter.exposition.encoding import Format, header, render
from exporter.metric import Count, Family, LabelValues, Sample
from exporter.platform.errors import PlatformError
from exporter.targets.target import Target, TargetKey
from tests.golden import assert_golden
from tests.platform.callers import ScriptedCaller

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
EXPOSITIONS = Path(__file__).parent / "expositions"


@dataclass
class KnownNames:
    """Names that a test sets; a name from a payload is used if the test sets none."""

    names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def name_of(self, key: TargetKey) -> str:
        """Implements `exporter.targets.target.Names`."""
        return self.names.get((key.kind, key.id), "")

    def learn(self, target: Target, name: str) -> Target:
        """Implements `exporter.targets.target.Names`."""
        return replace(target, name=target.name or name)

    def note(self, key: TargetKey, facts: Mapping[str, str]) -> None:
        """Ignore what else is known of a target."""


def context_of(caller: ScriptedCaller, names: Mapping[tuple[str, str], str] | None = None) -> Context:
    """Return the context of a fetch."""
    return Context(caller, KnownNames(names or {}), NOW)


async def poll(
    collector: Collector,
    target: Target,
    *answers: str | bytes | PlatformError | None,
    names: Mapping[tuple[str, str], str] | None = None,
    date: datetime | None = NOW,
) -> Polled:
    """Poll a target once, with prepared answers instead of answers of the platform."""
    return await collector.poll(context_of(ScriptedCaller(list(answers), date), names), target)


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
    series.advance_family(states, count.sources, days.Poll(now, now.timestamp()))
    return Family(count.info, tuple(Sample(count.labels + values, state.value) for values, state in states.items()))


def assert_as_in_file(exposition: str, name: str, folder: Path = EXPOSITIONS) -> None:
    """Compare the exposition of a collector's whole payload with its golden file."""
    assert_golden(exposition, folder / f"{name}.prom")


def samples(exposition: str, family: str) -> list[str]:
    """Return the sample lines of a family."""
    return [line for line in exposition.splitlines() if line.startswith((f"{family}{{", f"{family} "))]
