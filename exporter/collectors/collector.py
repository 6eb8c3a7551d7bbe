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

# The most days in a chart of the status page. Of a longer chart, the oldest days are left out; they may be incomplete.
CHART_DAYS = 30

P = TypeVar("P")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """The objects and the time that a collector uses in a poll.

    Attributes:
        now: when the poll began, by the platform's clock or, if the platform's time is unknown, by this machine's.
        report_found: a discovery calls it with the lists that were read.
    """

    caller: Caller
    registry: Registry
    now: datetime
    report_found: Callable[[Inventory], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Label(Generic[T_contra]):
    """The name of a label, and the function that returns the label's value for a target and a payload."""

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
        outcomes: first the outcome of the polled target, then the outcomes of other targets in the answer. Empty if the
            poll only looked up names.
        date: the platform's time at an answer of the poll; None if the time is not known.
        naming_error: the first error of the lists that were read only for names; None if there was no such error.
    """

    outcomes: tuple[Outcome, ...]
    date: datetime | None = None
    naming_error: PlatformError | None = None

    @property
    def error(self) -> PlatformError | None:
        """The error in the outcome of the polled target; None after a success, or if there are no outcomes."""
        return self.outcomes[0].error if self.outcomes else None


class Collector:
    """The base class of collectors.

    Attributes:
        name: the value of the label `collector`, and by default the collector's `section`.
        polls: the kind of the targets that are polled.
        interval: the default interval between two polls of a target, in seconds.
        operations: the operations whose answers contain the collector's values or targets. While one of them is
            paused for an account, this collector begins no poll of the account's targets.
        families: every family that a poll can yield, in the order of the exposition.
        discovers: whether the collector reports lists of targets to `Context.report_found`.
        supplies_names: whether new targets may wait for names that the collector's polls find.
        every_shard: whether every shard polls the target, because the answers also contain targets of other shards. The
            series of the polled target itself come only from the shard of this target.
        owns_target: whether a 404 means that the target no longer exists. Then the target's families end
            for every collector that polls the target.
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
        """The key under `collectors:` with the collector's settings; some collectors use another collector's key."""
        return self.name

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the targets in the outcomes of a poll, including `polls`."""
        return (self.polls,)

    def families_of(self, _kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families that a target may have; for an unknown id, only families that do not depend on the id."""
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
        """Poll a target once. A `NotAvailable` becomes the outcome's note, any other PlatformError its error."""
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

    `path` maps each parameter in the operation's path to the function that returns the parameter's value, an id.
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
    """Return the label `name` with the value of the target's attribute `key`; an empty `key` stands for `name`."""
    return Label(name, lambda target, _: target.attributes.get(key or name, ""))


def identity(id_label: str = "", name_label: str = "", *, within: str = "") -> tuple[Label[object], ...]:
    """Return the label `account`, then the labels named by `within`, `id_label` and `name_label`, if not empty.

    Args:
        id_label: the name of the label with the target's id.
        name_label: the name of the label with the target's name.
        within: the name of the label with the id of the resource that contains the target, such as `shield_zone_id`.
            The target has an attribute with the name of the label, whose value is this id.
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
    """Return the family of each metric; the labels of the target, `labels`, come before those of the metric."""
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

    `labels` are the values of the target's labels. `infos` are the families of `metrics`, in the order of `metrics`.

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
        # `label_value` may give two keys one text. The value of the first key is kept, because series must be unique.
        found.setdefault(_label_values(key), value)
    return found


# Cached, because the next answer often has these keys again.
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
    """Return the label values and the source of each series; None if the payload has nothing to count."""
    counted = metric.counted(payload) if metric.counted is not None else None
    if counted is None:
        return None
    if isinstance(counted, Source):
        # The family has one series for the target, and no labels besides the target's.
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
    """Return each name and `unknown` → 1 for the name of the value, 0 for the others; empty if the value is None."""
    current = enum_name(value, names)
    return {} if current is None else {name: float(name == current) for name in (*names.values(), UNKNOWN)}


@dataclass(frozen=True, slots=True)
class TargetCollector(Collector, Generic[P]):
    """A collector whose polls return the values of one target.

    Attributes:
        fetch: makes the calls of one poll.
        name_of: reads the target's name from the payload; None: the payload has no names.
        chart: reads the counts of days (ordinal → count) for the chart of the status page; None: there is no chart.
        total: reads the platform's total of the days in `chart`; None: the sum of the days is not checked.
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
            context.registry.record_name(target.key, name)
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
