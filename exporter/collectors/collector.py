"""Defines collectors, and converts answers to families and counts."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from exporter.label_values import UNKNOWN, enum_name, label_value
from exporter.metric import Count, Family, FamilyInfo, LabelValues, Metric, Sample, Source, unit_of
from exporter.platform.errors import NotAvailable, PlatformError, WrongShape
from exporter.platform.operation import Answer, Caller, Operation, Request
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, Target

# The most days in a chart of the status page. The platform's charts may have more; their oldest day may be incomplete.
CHART_DAYS = 30

P = TypeVar("P")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a poll uses.

    Attributes:
        now: the time at the poll's beginning: the platform's or, if that is unknown, this machine's.
        report_found: receives what a discovery has found.
    """

    caller: Caller
    registry: Registry
    now: datetime
    report_found: Callable[[Inventory], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Label(Generic[T_contra]):
    """The name of a label, and the function that returns its value for a target and a payload."""

    name: str
    value: Callable[[Target, T_contra], str]


class Outcome(NamedTuple):
    """The result of a poll for one target.

    Attributes:
        error: the failure; None after a success. A failure may have families, too.
        chart: the counts of days for the status page, oldest first; may be empty.
        is_mismatched: whether the answer has a total and days, and the total is not the sum of the days.
        note: why a poll that succeeded has no families; may be empty.
    """

    target: Target
    families: tuple[Family, ...] = ()
    counts: tuple[Count, ...] = ()
    error: PlatformError | None = None
    chart: tuple[float, ...] = ()
    is_mismatched: bool = False
    note: str = ""


class PollResult(NamedTuple):
    """The outcomes of one poll.

    Attributes:
        outcomes: first the outcome of the polled target, then those of other targets in its answer. Empty if the poll
            only looked up names.
        date: the platform's time at the answer; None if it is not known.
        naming_error: the error of a list that was read only for names; None without such an error.
    """

    outcomes: tuple[Outcome, ...]
    date: datetime | None = None
    naming_error: PlatformError | None = None

    @property
    def error(self) -> PlatformError | None:
        """The error of the polled target itself, not of other targets in its answer; None without one."""
        return self.outcomes[0].error if self.outcomes else None


class Collector:
    """The base class of collectors.

    Attributes:
        name: the `collector` label, and the `section` of a collector with settings of its own.
        polls: the kind of target that it polls.
        interval: the default interval between two polls of a target, in seconds.
        operations: those whose answers contain its values or targets. While one of them is paused, no poll begins.
        families: every family that it can yield, in the order of the exposition.
        discovers: whether it finds targets of an account.
        supplies_names: whether its polls may find the names for which new targets wait.
        every_shard: whether the processes of all shards make its polls, because the answers contain targets of all
            shards. Only the shard of the polled target itself publishes that target's series.
        owns_target: whether a 404 means that the target no longer exists; then the families of all its collectors end.
    """

    __slots__ = ()

    name: str
    polls: str
    interval: float
    operations: tuple[Operation[Any], ...]
    families: tuple[FamilyInfo, ...]
    discovers: bool = False
    supplies_names: bool = False
    every_shard: bool = False
    owns_target: bool = False

    @property
    def section(self) -> str:
        """The key under `collectors:` with its settings; some collectors share the key of another one."""
        return self.name

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of targets in its outcomes, including the kind that it polls."""
        return (self.polls,)

    def families_of(self, _kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families that a target may have; for an unknown id, those that do not depend on the id."""
        return self.families

    def wants(self, _target: Target) -> bool:
        """Return whether the collector polls this target, whose kind is `polls`."""
        return True

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Poll a target once.

        Raises:
            PlatformError: there is no usable answer.
        """
        raise NotImplementedError

    async def try_poll(self, context: Context, target: Target) -> PollResult:
        """Poll a target once. A PlatformError is part of the result: `NotAvailable` as a note, others as an error."""
        try:
            return await self.poll(context, target)
        except NotAvailable as absence:
            return PollResult((Outcome(target, note=str(absence)),))
        except PlatformError as error:
            return PollResult((Outcome(target, error=error),))


def calling(
    operation: Operation[P], **path: Callable[[Target], str]
) -> Callable[[Context, Target], Awaitable[Answer[P]]]:
    """Return the `fetch` of a collector that makes one call.

    `path` maps each parameter in the operation's path to the function that returns its value, an id.
    """

    async def fetch(context: Context, target: Target) -> Answer[P]:
        # The platform's ids are numbers.
        ids = {name: int(id_of(target)) for name, id_of in path.items()}
        return await context.caller.call(Request(operation, ids))

    return fetch


def own_id(target: Target) -> str:
    """Return the target's id."""
    return target.id


ACCOUNT: Label[object] = Label("account", lambda target, _: target.account)


def attribute(name: str, key: str = "") -> Label[object]:
    """Return a label with the value of the target's attribute `key`, by default `name`; empty without the attribute."""
    return Label(name, lambda target, _: target.attributes.get(key or name, ""))


def identity(id_label: str = "", name_label: str = "", *, within: str = "") -> tuple[Label[object], ...]:
    """Return the label `account`, and after it the labels whose names are given: `within`, the id, the name.

    Args:
        id_label: the name of the label with the target's id.
        name_label: the name of the label with the target's name.
        within: the name of the label with the id of the resource to which the target belongs, such as
            `shield_zone_id`; the id is the target's attribute of the same name.
    """
    labels: list[Label[object]] = [ACCOUNT]
    if within:
        labels.append(attribute(within))
    if id_label:
        labels.append(Label(id_label, lambda target, _: target.id))
    if name_label:
        labels.append(Label(name_label, lambda target, _: target.name))
    return tuple(labels)


def describe_families(labels: Sequence[Label[Any]], metrics: Iterable[Metric[Any]]) -> tuple[FamilyInfo, ...]:
    """Return the family of each metric; the labels of the target come before the metric's own."""
    names = tuple(label.name for label in labels)
    return tuple(
        FamilyInfo(
            metric.name,
            metric.help,
            metric.kind,
            unit_of(metric.name),
            labels=names + metric.labels,
            is_limited=bool(metric.labels),
            is_counted=metric.counted is not None,
        )
        for metric in metrics
    )


def measure(
    labels: LabelValues, infos: Sequence[FamilyInfo], metrics: Sequence[Metric[P]], payload: P
) -> tuple[tuple[Family, ...], tuple[Count, ...]]:
    """Return the families and counts of one target, read from a payload; families without a sample are left out.

    `labels` are the values of the target's labels. `infos` are the families of the metrics, in the same order.

    Raises:
        WrongShape: a value cannot be read from this payload.
    """
    families: list[Family] = []
    counts: list[Count] = []
    for info, metric in zip(infos, metrics, strict=True):
        try:
            samples = _samples(labels, metric, payload)
            sources = _sources(metric, payload)
        except ValueError as error:
            raise WrongShape(f"{metric.name} cannot be read from the answer: {error}") from error
        if samples:
            families.append(Family(info, samples))
        if sources is not None:
            counts.append(Count(info, labels, sources, metric.declared))
    return tuple(families), tuple(counts)


def _by_label_values(values: Mapping[Any, T]) -> dict[LabelValues, T]:
    found: dict[LabelValues, T] = {}
    for key, value in values.items():
        # `label_value` may make two keys equal, such as long ones. The first is kept, because series must be unique.
        found.setdefault(_label_values(key), value)
    return found


# Cached, because the keys of one answer are often those of the next.
@lru_cache(maxsize=4096)
def _label_values(key: str | LabelValues) -> LabelValues:
    return (label_value(key),) if isinstance(key, str) else tuple(label_value(part) for part in key)


def _samples(labels: LabelValues, metric: Metric[P], payload: P) -> tuple[Sample, ...]:
    if metric.value is None:
        return ()
    value = metric.value(payload)
    # The check for a number is faster than one for a mapping.
    if value is None or isinstance(value, (int, float)):
        number = finite(value)
        return () if number is None else (Sample(labels, number),)
    numbers = {key: number for key, one in value.items() if (number := finite(one)) is not None}
    return tuple(Sample(labels + values, number) for values, number in _by_label_values(numbers).items())


def _sources(metric: Metric[P], payload: P) -> tuple[tuple[LabelValues, Source], ...] | None:
    """Return pairs of label values and source; empty if there is no label value yet, None if there is no data."""
    counted = metric.counted(payload) if metric.counted is not None else None
    if counted is None:
        return None
    if isinstance(counted, Source):
        # The only series has no labels of its own.
        return (((), counted),)
    return tuple(_by_label_values(counted).items())


def finite(number: float | None) -> float | None:
    """Return a number as a float, 0 for -0; None for None, NaN, infinity and integers too large for a float."""
    if number is None:
        return None
    try:
        value = float(number) + 0.0
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def enum_samples(value: int | None, names: Mapping[int, str]) -> dict[str, float]:
    """Return name → 1 for the current value, 0 for the others; `unknown` is one of the names. Empty for None."""
    current = enum_name(value, names)
    return {} if current is None else {name: float(name == current) for name in (*names.values(), UNKNOWN)}


@dataclass(frozen=True, slots=True)
class TargetCollector(Collector, Generic[P]):
    """A collector whose polls return the values of one target.

    Attributes:
        fetch: makes the calls of one poll.
        name_of: reads the target's name from the payload; without this function, no names are read.
        chart: reads the days (ordinal → count) for the status page; without this function, the page draws no chart.
        total: reads the platform's total of these days; without this function, their sum is not checked.
    """

    name: str
    polls: str
    interval: float
    operations: tuple[Operation[Any], ...]
    fetch: Callable[[Context, Target], Awaitable[Answer[P]]]
    labels: tuple[Label[P], ...]
    metrics: tuple[Metric[P], ...]
    name_of: Callable[[P], str | None] | None = None
    chart: Callable[[P], Mapping[int, float] | None] | None = None
    total: Callable[[P], float | None] | None = None
    owns_target: bool = False
    families: tuple[FamilyInfo, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "families", describe_families(self.labels, self.metrics))

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Make the calls, record the target's name if `name_of` finds one, and return the target's outcome."""
        answer = await self.fetch(context, target)
        payload = answer.value
        if self.name_of is not None and (name := self.name_of(payload)):
            context.registry.learn(target.key, name)
        # Another collector may have recorded the name meanwhile.
        target = context.registry.named(target)
        values = tuple(label_value(label.value(target, payload)) for label in self.labels)
        families, counts = measure(values, self.families, self.metrics, payload)
        days = self.chart(payload) if self.chart is not None else None
        chart = tuple(days[day] for day in sorted(days)[-CHART_DAYS:]) if days else ()
        total = self.total(payload) if self.total is not None else None
        is_mismatched = days is not None and total is not None and not math.isclose(total, math.fsum(days.values()))
        outcome = Outcome(target, families, counts, chart=chart, is_mismatched=is_mismatched)
        return PollResult((outcome,), answer.date)
