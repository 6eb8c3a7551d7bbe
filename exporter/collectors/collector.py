"""Defines a collector: the calls of a poll, the labels of its target, and the metrics of the answer."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

from exporter.collectors.causes import NO_VALUES, Cause, Lack
from exporter.metric import (
    Count,
    DayBuckets,
    Family,
    FamilyInfo,
    LabelValues,
    Metric,
    MonthToDate,
    Sample,
    label_value,
)
from exporter.platform.api.charts import daily
from exporter.platform.errors import OutOfRange, PlatformError, WrongShape
from exporter.platform.operation import Answer, Caller, Operation, Request
from exporter.platform.wire import UNKNOWN, known
from exporter.targets.target import Inventory, Names, Target, TargetKey

# The window of the platform's charts is one or two days longer; its oldest day may be incomplete.
CHART_DAYS = 30

T = TypeVar("T")
P = TypeVar("P")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a poll uses: the account's client, which ends calls at the poll's deadline, and the known names."""

    caller: Caller
    names: Names
    now: datetime
    # Returns whether this shard polls a resource. No further calls are made for resources of other shards.
    owns: Callable[[TargetKey], bool] = lambda _key: True
    # Returns the kinds of which configured ids in an account have no name, and should be looked up.
    lacking: Callable[[str], frozenset[str]] = lambda _account: frozenset()
    # Receives a part of a discovery's findings before its end; the result of the poll then does not contain this part.
    found: "Callable[[Inventory], Awaitable[None]] | None" = None


@dataclass(frozen=True, slots=True)
class Label(Generic[T_contra]):
    """A label that all of a collector's families carry; its value comes from the target or its payload."""

    name: str
    value: Callable[[Target, T_contra], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a poll for one target: all of its families and counts, or the error.

    Attributes:
        error: the failure. Usually there are no families then; those that exist are exposed.
        chart: the counts of the last days for the status page, oldest first; empty without a chart.
        fingerprint: identifies the answer; empty if an equal answer could give another result.
        is_unchanged: whether the answer was equal to the last one, so that the last values stay valid.
        lack: why the families that are missing here have no samples.
    """

    target: Target
    families: tuple[Family, ...] = ()
    counts: tuple[Count, ...] = ()
    error: PlatformError | None = None
    chart: tuple[float, ...] = ()
    fingerprint: bytes = b""
    is_unchanged: bool = False
    lack: Lack = NO_VALUES


@dataclass(frozen=True, slots=True)
class Polled:
    """The outcomes of one poll.

    Attributes:
        outcomes: first that of the polled target, then those of other targets in its answer; none if names alone were
            looked up.
        date: the platform's time, if its answer has a date.
        found: the resources that a discovery found.
        unnamed: why names of configured ids could not be looked up, which is no failure of the poll.
    """

    outcomes: tuple[Outcome, ...]
    date: datetime | None = None
    found: Inventory | None = None
    unnamed: PlatformError | None = None

    def noting(self, unexpected: frozenset[str], fingerprint: bytes) -> "Polled":
        """Return the same with facts about the answer of the polled target.

        The fingerprint is kept only if an equal answer would give an equal result: not for a list, which has many
        targets, not for month-to-date values, whose count depends on the time of each poll, too, and not with
        unexpected fields, which every poll reports.

        Args:
            unexpected: the fields with an unknown value, by their names in JSON.
            fingerprint: identifies the answer; empty if it is not compared.
        """
        if not self.outcomes:
            return self
        first, *others = self.outcomes
        if unexpected:
            first = replace(first, lack=replace(first.lack, unexpected=unexpected))
        elif fingerprint and not others and self.found is None and first.error is None:
            sources = (source for count in first.counts for _, source in count.sources)
            if not any(isinstance(source, MonthToDate) for source in sources):
                first = replace(first, fingerprint=fingerprint)
        return replace(self, outcomes=(first, *others))

    @property
    def error(self) -> PlatformError | None:
        """The error of the polled target itself; None without one."""
        return self.outcomes[0].error if self.outcomes else None


class Collector(Protocol):
    """A collector, which is one row of the catalogue."""

    @property
    def name(self) -> str:
        """The `collector` label, and the key under `collectors:` in the configuration."""
        ...

    @property
    def section(self) -> str:
        """The key under `collectors:` with its switch and interval: its own name, or that of another collector."""
        ...

    @property
    def discovers(self) -> bool:
        """Whether it finds the targets of an account."""
        ...

    @property
    def polls(self) -> str:
        """The kind of target that it polls."""
        ...

    @property
    def interval(self) -> float:
        """Seconds between two polls of a target, if the configuration sets no other interval."""
        ...

    @property
    def operations(self) -> tuple[Operation[Any], ...]:
        """The operations of the platform that a poll calls."""
        ...

    @property
    def owns_target(self) -> bool:
        """Whether a 404 means that the target no longer exists. All collectors then stop polling it."""
        ...

    @property
    def families(self) -> tuple[FamilyInfo, ...]:
        """Every family that it can yield, in the order of the exposition."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of targets for which its answers give families, including the kind that it polls."""
        ...

    def families_of(self, kind: str, target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families that it can give a target; with an unknown id, those that any target could have."""
        ...

    def wants(self, target: Target) -> bool:
        """Return whether it polls this target, which is of its kind."""
        ...

    async def poll(self, context: Context, target: Target) -> Polled:
        """Poll a target once.

        Raises:
            PlatformError: there is no usable answer.
        """
        ...


def calling(
    operation: Operation[P], **path: Callable[[Target], str]
) -> Callable[[Context, Target], Awaitable[Answer[P]]]:
    """Return a poll of one call.

    Args:
        operation: the operation.
        path: a parameter of its path → the id, from the target.
    """

    async def fetch(context: Context, target: Target) -> Answer[P]:
        return await context.caller.call(Request(operation, {name: int(of(target)) for name, of in path.items()}))

    return fetch


def own_id(target: Target) -> str:
    """Return the target's id."""
    return target.id


def describe(labels: Sequence[Label[Any]], metrics: Iterable[Metric[Any]]) -> tuple[FamilyInfo, ...]:
    """Return the families of a collector; the target's labels come before the metric's own."""
    names = tuple(label.name for label in labels)
    return tuple(
        FamilyInfo(metric.name, metric.help, metric.kind, metric.unit, names + metric.labels, metric.source)
        for metric in metrics
    )


class Defaults:
    """Defaults for collectors: a section with their own name, and families only for the kind that they poll."""

    __slots__ = ()

    name: str
    polls: str
    families: tuple[FamilyInfo, ...]

    @property
    def section(self) -> str:
        """Return its own name."""
        return self.name

    @property
    def discovers(self) -> bool:
        """Return False: it finds no targets."""
        return False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return only the kind that it polls."""
        return (self.polls,)

    def families_of(self, _kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return all families, whatever the target."""
        return self.families


@dataclass(frozen=True, slots=True)
class TargetCollector(Defaults, Generic[P]):
    """A collector whose call gives the values of one target.

    Attributes:
        fetch: makes the calls of one poll. A value of None means that the platform has no data: no failure, and no
            samples.
        labels: the labels of its target.
        metrics: what the payload yields.
        tells_name: returns the target's name, if the payload contains it.
        chart: returns day → count; the status page draws the last days. None if the payload has no such chart.
        nothing: the cause of the absence if the platform has no data.
    """

    name: str
    polls: str
    interval: float
    operations: tuple[Operation[Any], ...]
    fetch: Callable[[Context, Target], Awaitable[Answer[P]]]
    labels: tuple[Label[P], ...]
    metrics: tuple[Metric[P], ...]
    tells_name: Callable[[P], str | None] | None = None
    chart: Callable[[P], Mapping[int, float] | None] | None = None
    nothing: Cause = Cause.NO_VALUE
    owns_target: bool = False
    families: tuple[FamilyInfo, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "families", describe(self.labels, self.metrics))

    def wants(self, target: Target) -> bool:
        """Return whether this target is polled; some targets exist only to discover others."""
        return not target.scouted

    async def poll(self, context: Context, target: Target) -> Polled:
        """Make the calls, and turn the answer into the series of the target."""
        answer = await self.fetch(context, target)
        if self.tells_name is not None:
            target = context.names.learn(target, self.tells_name(answer.value) or "")
        values = tuple(label_value(label.value(target, answer.value)) for label in self.labels)
        families, counts = measure(values, self.families, self.metrics, answer.value, target.account)
        days = self.chart(answer.value) if self.chart is not None else None
        chart = tuple(days[day] for day in sorted(days)[-CHART_DAYS:]) if days else ()
        lack = NO_VALUES if answer.value is not None else Lack(self.nothing)
        return Polled((Outcome(target, families, counts, chart=chart, lack=lack),), answer.date)


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """One item of a list: its payload, or its error."""

    id: str
    payload: T | None = None
    error: PlatformError | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[P, T]):
    """The answer of a list call: the whole, and its items."""

    whole: P
    items: tuple[Item[T], ...]


@dataclass(frozen=True, slots=True)
class ListCollector(Defaults, Generic[P, T]):
    """A collector whose single call gives the values of many targets: a list of an account's resources.

    Attributes:
        metrics: the metrics of the whole list, with the labels of the polled account.
        item_kind: the kind of target that an item is.
        item_metrics: the metrics of an item.
    """

    name: str
    polls: str
    interval: float
    operations: tuple[Operation[Any], ...]
    fetch: Callable[[Context, Target], Awaitable[Answer[Listing[P, T]]]]
    labels: tuple[Label[P], ...]
    metrics: tuple[Metric[P], ...]
    item_kind: str
    item_labels: tuple[Label[T], ...]
    item_metrics: tuple[Metric[T], ...]
    owns_target: bool = False
    families: tuple[FamilyInfo, ...] = field(init=False)

    def __post_init__(self) -> None:
        both = (*describe(self.labels, self.metrics), *describe(self.item_labels, self.item_metrics))
        object.__setattr__(self, "families", both)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kind that it polls, and the kind of its items."""
        return (self.polls, self.item_kind)

    def families_of(self, kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families of the whole list, or those of an item."""
        own = len(self.metrics)
        return self.families[:own] if kind == self.polls else self.families[own:]

    def wants(self, target: Target) -> bool:
        """Return whether any item of the account is polled; otherwise the list is not needed."""
        return self.item_kind in target.watched

    async def poll(self, context: Context, target: Target) -> Polled:
        """Make the call, and turn each item into series; an error in one item does not affect the others."""
        answer = await self.fetch(context, target)
        listing = answer.value
        values = tuple(label_value(label.value(target, listing.whole)) for label in self.labels)
        own = len(self.metrics)
        families, counts = measure(values, self.families[:own], self.metrics, listing.whole)
        outcomes = [Outcome(target, families, counts)]
        for item in listing.items:
            found = Target(target.account, self.item_kind, item.id)
            outcomes.append(self._item(replace(found, name=context.names.name_of(found.key)), item))
        return Polled(tuple(outcomes), answer.date)

    def _item(self, target: Target, item: Item[T]) -> Outcome:
        if item.payload is None:
            return Outcome(target, error=item.error or WrongShape("the item holds nothing"))
        values = tuple(label_value(label.value(target, item.payload)) for label in self.item_labels)
        try:
            families, counts = measure(values, self.families[len(self.metrics) :], self.item_metrics, item.payload)
        except PlatformError as error:
            return Outcome(target, error=error)
        return Outcome(target, families, counts)


ACCOUNT: Label[object] = Label("account", lambda target, _: target.account)


# The ordinal of a UTC day → its count.
Days = Mapping[int, float]


def measure(
    labels: LabelValues, infos: Sequence[FamilyInfo], metrics: Sequence[Metric[P]], payload: P, account: str = ""
) -> tuple[tuple[Family, ...], tuple[Count, ...]]:
    """Turn a payload into the families and counts of one target: all of them, or an error.

    Args:
        labels: the values of the target's labels.
        infos: the family of each metric, in the same order.
        metrics: the declarations.
        payload: the platform's answer.
        account: the target's account.

    Raises:
        WrongShape: a value cannot be read from this payload; OutOfRange where it is too large.
    """
    families: list[Family] = []
    counts: list[Count] = []
    for info, metric in zip(infos, metrics, strict=True):
        try:
            if metric.counted is not None:
                counted = metric.counted(payload)
                if counted is not None:
                    sources = counted.items() if isinstance(counted, Mapping) else [((), counted)]
                    found = tuple((_values(key), source) for key, source in sources)
                    counts.append(Count(info, labels, found, metric.declared(account), metric.complete))
                continue
            samples = tuple(_samples(labels, metric, payload))
        except (ValueError, OverflowError) as error:
            fault = OutOfRange if isinstance(error, OverflowError) else WrongShape
            raise fault(f"{metric.name} cannot be read from the answer: {error}") from error
        if samples:
            families.append(Family(info, samples))
    return tuple(families), tuple(counts)


def _values(key: str | LabelValues) -> LabelValues:
    return (label_value(key),) if isinstance(key, str) else tuple(label_value(part) for part in key)


def _samples(labels: LabelValues, metric: Metric[P], payload: P) -> Iterable[Sample]:
    value = metric.value(payload) if metric.value is not None else None
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield Sample(labels, _finite(value))
        return
    seen: set[LabelValues] = set()
    for key, number in value.items():
        values = _values(key)
        # Cutting long label values can make two of them equal. Only the first is kept, because a series must be unique.
        if number is None or values in seen:
            continue
        seen.add(values)
        yield Sample(labels + values, _finite(number))


def _finite(number: float) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise OverflowError(f"{value:g}, expected a finite number")
    return value


def enum_samples(value: int | None, names: Mapping[int, str]) -> dict[str, float]:
    """Return 1 for the name of an enum's value and 0 for its other names; nothing if there is no value."""
    current = known(value, names)
    return {} if current is None else {name: float(name == current) for name in (*names.values(), UNKNOWN)}


def days_of(chart: Mapping[str, float | None] | None) -> Days | None:
    """Return a chart's days; None if there is no chart, or if none of its buckets can be read.

    Raises:
        WrongShape: the buckets are longer than a day.
    """
    days = None if chart is None else daily(chart)
    return None if chart and not days else days


def newest(days: Days | None) -> float | None:
    """Return the count of a chart's newest day."""
    return days[max(days)] if days else None


def newest_start(days: Days | None) -> float | None:
    """Return the beginning of a chart's newest day, in unix seconds."""
    return datetime.fromordinal(max(days)).replace(tzinfo=UTC).timestamp() if days else None


def buckets(days: Days | None) -> DayBuckets:
    """Return a chart's days as the source of a counter."""
    return DayBuckets(days or {}, charted=days is not None)
