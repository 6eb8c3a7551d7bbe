"""What a collector is: an endpoint call, the labels of its target, and the metrics that its payload yields."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from exporter.causes import NO_VALUES, Cause, Lack
from exporter.collectors.measure import measure
from exporter.metric import Count, Family, FamilyInfo, Metric, label_value
from exporter.platform.errors import PlatformError, WrongShape
from exporter.platform.operation import Answer, Caller, Operation
from exporter.targets.target import Inventory, Names, Target, TargetKey

# The platform's window spans a day or two more, of which the oldest may be cut off within the day.
CHART_DAYS = 30

T = TypeVar("T")
P = TypeVar("P")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a fetch may use: the account's client, bound to the poll's deadline, and known names."""

    caller: Caller
    names: Names
    now: datetime
    # Whether a resource is this shard's: what is not need not be asked for more of it.
    owns: Callable[[TargetKey], bool] = lambda _key: True
    # Receives what a discovery has found before its end; the result of the poll does not repeat it.
    found: "Callable[[Inventory], Awaitable[None]] | None" = None


@dataclass(frozen=True, slots=True)
class Label(Generic[T_contra]):
    """A label that all of a collector's families carry; its value comes from the target or its payload."""

    name: str
    value: Callable[[Target, T_contra], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a poll for one target: all of its families and counts, or what went wrong.

    Attributes:
        error: the failure. Families that come beside it are exposed all the same; as a rule there are none.
        chart: the counts of the last days for the status page, oldest first; empty where there is no chart.
        fingerprint: of the answer, where an equal one gives the same; empty where it may not.
        is_unchanged: whether the answer was the last one again, so that its values stand.
        lack: why families that are not among these have no samples.
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
        outcomes: the polled target's own first, then those of the other targets in its answer.
        date: the platform's clock, where its answer carried it.
        found: what a discovery learnt of which resources there are.
    """

    outcomes: tuple[Outcome, ...]
    date: datetime | None = None
    found: Inventory | None = None

    def noting(self, unexpected: frozenset[str]) -> "Polled":
        """The same, with the wire names of fields of the polled target's answer that held unexpected values."""
        first, *others = self.outcomes
        first = replace(first, lack=replace(first.lack, unexpected=unexpected))
        return replace(self, outcomes=(first, *others))

    @property
    def error(self) -> PlatformError | None:
        """The failure of the polled target itself, None where there is none."""
        return self.outcomes[0].error


class Collector(Protocol):
    """A row of the catalogue."""

    @property
    def name(self) -> str:
        """The `collector` label, and the key under `collectors:` in the configuration."""
        ...

    @property
    def section(self) -> str:
        """The key under `collectors:` that switches it and sets its interval: its own name, or another collector's."""
        ...

    @property
    def discovers(self) -> bool:
        """Whether its answers say which targets an account has."""
        ...

    @property
    def polls(self) -> str:
        """The kind of target that it polls."""
        ...

    @property
    def interval(self) -> float:
        """Seconds between two polls of a target, unless the configuration says otherwise."""
        ...

    @property
    def operations(self) -> tuple[Operation[Any], ...]:
        """What a poll asks of the platform."""
        ...

    @property
    def owns_target(self) -> bool:
        """Whether a 404 on its call means that the target itself is gone, for all collectors that poll it."""
        ...

    @property
    def families(self) -> tuple[FamilyInfo, ...]:
        """Every family that it can yield, in the order in which they are exposed."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of target that its answers give families of; the kind that it polls is one of them."""
        ...

    def families_of(self, kind: str, target_id: str) -> tuple[FamilyInfo, ...]:
        """The families that a target could have from it; an id that does not exist stands for any target."""
        ...

    def wants(self, target: Target) -> bool:
        """Whether a target of its kind has anything for it."""
        ...

    async def poll(self, context: Context, target: Target) -> Polled:
        """Poll a target once.

        Raises:
            PlatformError: there is no usable answer, for this target or for the others in it.
        """
        ...


def describe(labels: Sequence[Label[Any]], metrics: Iterable[Metric[Any]]) -> tuple[FamilyInfo, ...]:
    """The families of a collector: its target's labels before each metric's own."""
    names = tuple(label.name for label in labels)
    return tuple(
        FamilyInfo(metric.name, metric.help, metric.kind, metric.unit, names + metric.labels, metric.source)
        for metric in metrics
    )


class Defaults:
    """What a collector has unless it says otherwise: a section of its own, and families of the kind that it polls."""

    __slots__ = ()

    name: str
    polls: str
    families: tuple[FamilyInfo, ...]

    @property
    def section(self) -> str:
        """The section of its settings has its own name."""
        return self.name

    @property
    def discovers(self) -> bool:
        """Finds no targets."""
        return False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Makes series of the targets that it polls, and of no others."""
        return (self.polls,)

    def families_of(self, _kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return all families, whatever the target."""
        return self.families


@dataclass(frozen=True, slots=True)
class TargetCollector(Defaults, Generic[P]):
    """A collector whose call answers for the target that it polls.

    Attributes:
        fetch: makes the calls of one poll; the value is None where the platform has nothing, which is no
            failure and yields no samples.
        labels: the labels of its target.
        metrics: what the payload yields.
        tells_name: the target's name, where the payload holds it.
        chart: day → count, of which the status page draws the last days; None where the payload has no such chart.
        nothing: why there are no samples where the platform has nothing.
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
        """Return whether the target is polled for itself, and not only to find others."""
        return not target.scouted

    async def poll(self, context: Context, target: Target) -> Polled:
        """Make the call, and turn its answer into the series of the target."""
        answer = await self.fetch(context, target)
        if self.tells_name is not None:
            target = context.names.learn(target, self.tells_name(answer.value) or "")
        values = tuple(label_value(label.value(target, answer.value)) for label in self.labels)
        families, counts = measure(values, self.families, self.metrics, answer.value)
        days = self.chart(answer.value) if self.chart is not None else None
        chart = tuple(days[day] for day in sorted(days)[-CHART_DAYS:]) if days else ()
        lack = NO_VALUES if answer.value is not None else Lack(self.nothing)
        return Polled((Outcome(target, families, counts, chart=chart, lack=lack),), answer.date)


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """One item of a listing: its payload, or what is wrong with it."""

    id: str
    payload: T | None = None
    error: PlatformError | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[P, T]):
    """What a list call gave: the whole, and its items."""

    whole: P
    items: tuple[Item[T], ...]


@dataclass(frozen=True, slots=True)
class ListCollector(Defaults, Generic[P, T]):
    """A collector whose one call answers for many targets: an account's list.

    Attributes:
        metrics: what the whole list yields, for the polled target (the account).
        item_kind: the kind of target that an item is.
        item_metrics: what an item yields.
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
        """Makes series of the targets that it polls, and of the items of its list."""
        return (self.polls, self.item_kind)

    def families_of(self, kind: str, _target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families of the list, or those of an item."""
        own = len(self.metrics)
        return self.families[:own] if kind == self.polls else self.families[own:]

    def wants(self, target: Target) -> bool:
        """Return whether an item of the account is polled; no other needs the list."""
        return self.item_kind in target.watched

    async def poll(self, context: Context, target: Target) -> Polled:
        """Make the call, and turn each item into series; an item that is wrong fails alone."""
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
