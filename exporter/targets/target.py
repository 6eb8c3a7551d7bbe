"""What is polled: a target, its identity, and the inventory of what a platform account holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

# Before the name of a database, where accounts and databases stand side by side.
DATABASE_PREFIX = "database:"


class TargetKey(NamedTuple):
    """The identity of a target; made by `of`. Keys are ordered by account, kind, and the number or the text of the id.

    Attributes:
        account: the account's name; empty for a database.
        kind: `dns_zone`, `script`, `shield_zone`, `rate_limit`, ...
        number: the id as a number, so that keys are ordered as people count; -1 where it is none.
        id: the platform's id, as text.
    """

    account: str
    kind: str
    number: int
    id: str

    @classmethod
    def of(cls, account: str, kind: str, target_id: str) -> "TargetKey":
        """The key of a target."""
        is_number = target_id.isascii() and target_id.isdigit()
        return cls(account, kind, int(target_id) if is_number else -1, target_id)

    @property
    def label(self) -> str:
        """The target as metrics and logs name it, such as `dns_zone/102`."""
        return f"{self.kind}/{self.id}"


class PollKey(NamedTuple):
    """A target as one collector sees it; ordered by the target first."""

    target: TargetKey
    collector: str

    @classmethod
    def of(cls, collector: str, account: str, kind: str, target_id: str) -> "PollKey":
        """The key of a collector's target."""
        return cls(TargetKey.of(account, kind, target_id), collector)


@dataclass(frozen=True, slots=True)
class Target:
    """A thing that is polled. It *is* its account, kind and id; all else about it may change.

    Attributes:
        account: the account's name; empty for a database.
        kind: `dns_zone`, `script`, `shield_zone`, `rate_limit`, ...
        id: the platform's id, as text.
        name: what people call it, empty where that is not known.
        attributes: what else the call needs, such as the shield zone of a rate limit.
        watched: names to watch for: an image's tags, or the kinds of resource that an account's lists are for.
        interval: seconds between two polls, where the target has an interval of its own.
        scouted: whether the target is another shard's, and polled only for the other targets in its answers.
        key: the target's identity.
    """

    account: str
    kind: str
    id: str
    name: str = field(default="", compare=False)
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)
    watched: tuple[str, ...] = field(default=(), compare=False)
    interval: float | None = field(default=None, compare=False)
    scouted: bool = field(default=False, compare=False)
    key: TargetKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", TargetKey.of(self.account, self.kind, self.id))

    def polled_by(self, collector: str) -> PollKey:
        """The target as a collector of this name sees it."""
        return PollKey(self.key, collector)

    def is_polled_as(self, other: "Target") -> bool:
        """Whether a poll asks the same of both, and as often: the values of an earlier poll of the other still hold."""
        if other.scouted and not self.scouted:
            return False
        return (self.attributes, self.watched, self.interval) == (other.attributes, other.watched, other.interval)


def account_of(target: Target) -> str:
    """The account, or the database, whose client and budget a target uses."""
    if target.account:
        return target.account
    return DATABASE_PREFIX + target.id.partition("/")[0]


class Names(Protocol):
    """Returns the names of resources; a name that has been shown once does not change by itself."""

    def name_of(self, key: TargetKey) -> str:
        """The name, empty where it is not known."""
        ...

    def learn(self, target: Target, name: str) -> Target:
        """The target with the name from its own answer, unless it has been shown under another name already."""
        ...


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a discovery found; `parent` is the shield zone of a rate limit, as its id."""

    id: str
    name: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class ResourceList:
    """The resources of one kind in an account.

    Attributes:
        complete: whether the platform named all of them, so that one which is missing is gone.
    """

    resources: tuple[Resource, ...]
    complete: bool

    def names(self) -> dict[str, str]:
        """The names by id."""
        return {resource.id: resource.name for resource in self.resources}


@dataclass(frozen=True, slots=True)
class Inventory:
    """Which resources an account has.

    Attributes:
        lists: by kind; a kind that could not be listed is not there.
        names_follow: whether a list that is still being read brings names of its own.
    """

    lists: Mapping[str, ResourceList]
    names_follow: bool = False
