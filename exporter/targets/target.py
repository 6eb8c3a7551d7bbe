"""Defines a target, its identity, and the lists that a discovery reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# The kinds of targets whose names a search of the platform supplies.
NAMED_BY_SEARCH = frozenset({"dns_zone", "script", "shield_zone"})
# The prefix of a database's name in `client_name`, to distinguish the database from an account of the same name.
DATABASE_PREFIX = "database:"

# Identifies the list of an account's resources of one kind: the account's name, and the kind.
ListKey = tuple[str, str]


class TargetKey(NamedTuple):
    """The identity of a target; use `of` to make one. Keys are ordered by account, kind, and the id as number or text.

    Attributes:
        account: the account's name; empty for a database or a query.
        kind: `dns_zone`, `script`, `shield_zone`, `rate_limit`, ...
        digits: the number of digits of an id that is a number, so that 9 comes before 10; 0 for any other id.
        id: the id on the platform, as text. Kinds without such an id have a text from the configuration, such as a
            database's name.
    """

    account: str
    kind: str
    digits: int
    id: str

    @classmethod
    def of(cls, account: str, kind: str, target_id: str) -> "TargetKey":
        """Return the key of a target."""
        is_number = target_id.isascii() and target_id.isdigit()
        return cls(account, kind, len(target_id) if is_number else 0, target_id)

    @property
    def list_key(self) -> ListKey:
        """The target's account and kind."""
        return self.account, self.kind

    @property
    def label(self) -> str:
        """The kind and the id, as shown in metrics and logs, such as `dns_zone/102`."""
        return f"{self.kind}/{self.id}"

    @property
    def database(self) -> str:
        """For a database or a query: the database's name, maybe with slashes. For the id `*` (any query): `*`."""
        if self.kind != "query":
            return self.id
        database, _, _ = self.id.rpartition("/")
        return database or self.id


class PollKey(NamedTuple):
    """A target and the name of a collector; ordered by the target first."""

    target: TargetKey
    collector: str

    @classmethod
    def of(cls, collector: str, account: str, kind: str, target_id: str) -> "PollKey":
        """Return the key of a target and a collector."""
        return cls(TargetKey.of(account, kind, target_id), collector)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A thing that is polled. Targets with the same account, kind and id are equal, whatever their other attributes.

    Attributes:
        account, kind, id: described at `TargetKey`.
        name: the name on the platform or in the configuration; empty if none is known.
        attributes: further values that the requests or the series depend on, such as the shield zone of a rate limit.
        watched: an image's tags to watch for, or the names of the lists that are requested for an account.
        interval: seconds from one poll to the next; None if the collector's interval is used.
        key: the target's identity.
        client_name: names the client and the budget of the target's polls: the account, or `database:` and the name.
    """

    account: str
    kind: str
    id: str
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    interval: float | None = None
    key: TargetKey = field(init=False, repr=False)
    client_name: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", TargetKey.of(self.account, self.kind, self.id))
        object.__setattr__(self, "client_name", self.account or DATABASE_PREFIX + self.key.database)

    def __eq__(self, other: object) -> bool:
        """Return whether both are targets with the same key."""
        return isinstance(other, Target) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def is_polled_as(self, other: "Target") -> bool:
        """Return whether another target with the same key has equal `attributes`, `watched` and `interval`."""
        return (self.attributes, self.watched, self.interval) == (other.attributes, other.watched, other.interval)


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a discovery found; `parent` is the id of a rate limit's shield zone, else empty."""

    id: str
    name: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class ResourceList:
    """The resources of one kind in an account.

    Attributes:
        complete: whether the whole list was read. A resource that is missing in an incomplete list may still exist.
    """

    resources: tuple[Resource, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Inventory:
    """Lists that a discovery has read in an account.

    Attributes:
        lists: kind → the list that was read.
        is_named: whether this discovery has reported all names, so that targets no longer wait for names.
    """

    lists: Mapping[str, ResourceList]
    is_named: bool = False
