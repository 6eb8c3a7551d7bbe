"""Polls single collectors, and renders the results as exposition text, or as a text of all that a poll gives."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from unittest.mock import AsyncMock

from exporter.collectors.collector import Collector, Context, Outcome, PollResult
from exporter.counters.counting import Families, count_poll
from exporter.counters.days import PollTime
from exporter.exposition.sample_lines import Format, header, render
from exporter.metric import Count, Family, LabelValues, LastChange, MonthToDate, Sample, Source
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Caller
from exporter.targets.registry import Registry
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import ResourceList, Target, TargetKey
from tests.platform.callers import ScriptedCaller

NOW = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
EXPOSITIONS = Path(__file__).parent / "expositions"
Body = str | bytes | PlatformError | None


def context_of(caller: Caller, target: Target, names: Mapping[tuple[str, str], str] | None = None) -> Context:
    """Return the context of a poll that began a second ago, with the target's name and others by their kind and id."""
    registry = Registry(Shard(), lambda: 0.0)
    registry.configure([Selection("main", "shield_zone", discover=True)])
    known = {TargetKey.of("main", kind, one): name for (kind, one), name in (names or {}).items()}
    registry.add_stored_names({target.key: target.name, **known})
    return Context(caller, registry, NOW - timedelta(seconds=1), AsyncMock())


async def poll(collector: Collector, target: Target, *answers: Body, date: datetime | None = NOW) -> PollResult:
    """Poll a target once, with prepared answers instead of answers of the platform."""
    return await collector.poll(context_of(ScriptedCaller(list(answers), date), target), target)


def exposed(collector: Collector, *polls: PollResult, form: Format = Format.TEXT) -> str:
    """Return the exposition of a collector's families after some polls, with counters over all of them."""
    counters: dict[LabelValues, Families] = {}
    families: list[Family] = []
    for polled in polls:
        families = [family for outcome in polled.outcomes for family in outcome.families]
        for outcome in polled.outcomes:
            families += [_counted(one, counters, polled.date or NOW) for one in outcome.counts]
    lines = {
        info: b"".join(render(family) for family in families if family.info == info)
        for info in collector.families
        if any(family.info == info for family in families)
    }
    return "".join((header(info, form) + text).decode() for info, text in lines.items())


def _counted(one: Count, counters: dict[LabelValues, Families], now: datetime) -> Family:
    poll = PollTime(now, now.timestamp())
    counted = count_poll(counters.get(one.labels, {}), [one], "", poll, math.inf, limit=1000).families
    counters[one.labels] = counted
    # A count that cannot be read begins no family.
    series = counted[one.info.name].series if one.info.name in counted else {}
    return Family(one.info, tuple(Sample(one.labels + values, state.value) for values, state in series.items()))


async def told(collector: Collector, answers: Sequence[Body], *targets: Target) -> str:
    """Return the requests and the results of polls of targets, one after another, as text.

    A line that begins with `counted` is what the ledger gets: a day's ordinal is written as its date, and `no chart` is
    a chart that is null or missing. `found` is a list of resources, each as `id of parent (name)`, and `drawn`
    is the chart of the status page. Besides the targets' names, that of shield zone 9 is known.
    """
    caller = ScriptedCaller(list(answers))
    text = ""
    for target in targets:
        caller.calls.clear()
        try:
            context = context_of(caller, target, {("shield_zone", "9"): "its former name"})
            polled = await collector.poll(context, target)
            assert polled.date in (caller.date, None)
            given = "".join(map(_shown, polled.outcomes))
            given += "" if polled.date or polled.error else "no date\n"
            for (found,), _ in context.report_found.await_args_list:  # type: ignore[attr-defined]
                given += "".join(_listed(kind, listed) for kind, listed in found.lists.items())
                given += "names are known\n" if found.is_named else ""
            given += f"unnamed: {polled.naming_error}\n" if polled.naming_error else ""
            assert not any(secret in repr(polled) for secret in ("d3pl0y", "v4lue"))
        except PlatformError as error:
            given = f"{error.reason}: {error}\n"
        text += "".join(f"asked {name} {json.dumps(arguments)}\n" for name, arguments in caller.calls) + given
    return text


def _shown(outcome: Outcome) -> str:
    name = f" ({json.dumps(outcome.target.name)[1:-1]})" if outcome.target.name else ""
    error = f": {outcome.error.reason}: {outcome.error}" if outcome.error else ""
    lines = [f"{outcome.target.key.label}{name}{error}\n"]
    lines += [render(family).decode() for family in outcome.families]
    lines += [
        f"counted {count.info.name} {','.join(labels)}: {_source(source)}\n".replace(" :", ":")
        for count in outcome.counts
        for labels, source in count.sources or [((), None)]
    ]
    lines += [f"drawn {outcome.chart}\n"] if outcome.chart else []
    return "".join(lines)


def _source(source: Source | None) -> str:
    if source is None:
        return "no series"
    if isinstance(source, MonthToDate):
        return f"{source.value:g} in the month"
    if isinstance(source, LastChange):
        return f"mark {source.value:.0f}"
    if not source.has_chart:
        return "no chart"
    days = [f"{date.fromordinal(day)}={count:g}" for day, count in source.days.items()]
    return " ".join(["days", *days, *(["as the sum of all series"] if source.is_whole else [])])


def _listed(kind: str, found: ResourceList) -> str:
    parts = [
        one.id + (f" of {one.parent}" if one.parent else "") + (f" ({one.name})" if one.name else "")
        for one in found.resources
    ]
    return f"found {kind}, {'complete' if found.complete else 'incomplete'}: {', '.join(parts) or 'none'}\n"
