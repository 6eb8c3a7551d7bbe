"""The interface between the ledger and its storage, and the rows that a storage keeps."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import date
from typing import NamedTuple, Protocol

import msgpack

from exporter.counters.days import number
from exporter.counters.series import Series, Sight, from_plain, to_plain
from exporter.metric import LabelValues
from exporter.targets.target import PollKey

# family → label values beyond the target's → the series' state
Families = dict[str, dict[LabelValues, Series]]


class StorageError(Exception):
    """Nothing can be read or written now; a later attempt may succeed. The message contains no secret."""


class StateLockedError(StorageError):
    """Another process has locked the state file."""


class LeaseHeldError(StorageError):
    """Another exporter holds the lease of the shard, which it renews or which ends."""


class LeaseLostError(StorageError):
    """Another exporter has claimed the lease of the shard: nothing may be written."""


class Stored(NamedTuple):
    """A packed row: the state of one target of one collector.

    Attributes:
        name: the target's name.
        success: unix seconds of its last successful poll.
        data: its series, packed.
        facts: what is known of its configured families apart from the series, packed; empty if nothing.
    """

    name: str
    success: float
    data: bytes
    facts: bytes = b""


class Opened(NamedTuple):
    """The rows of a storage that was opened.

    Attributes:
        rows: every row of this exporter.
        are_newer: whether the rows replace those in the ledger's memory, because the memory is empty or another
            exporter may have continued to count; otherwise the ledger writes its own rows.
        is_left: returns whether another exporter now counts a row of the ledger, which then drops it.
    """

    rows: dict[PollKey, Stored]
    are_newer: bool
    is_left: Callable[[PollKey], bool] = lambda _key: False


class Storage(Protocol):
    """Keeps the ledger's rows; used by one thread at a time."""

    @property
    def location(self) -> str:
        """Where the rows are kept; for logs, without a secret."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other exporters keep their rows in it, too."""
        ...

    def prepare(self) -> Opened | None:
        """Make the storage usable; return its rows if it had to be opened, and None if it was open.

        Raises:
            StateLockedError: another process has the state file.
            StorageError: it cannot be used now.
        """
        ...

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:
        """Write rows durably, and delete those whose value is None; writing a row again replaces it.

        Returns:
            The keys of rows that were not written, because another exporter counts them now.

        Raises:
            StorageError: not all of the other rows were written.
        """
        ...

    def holds(self) -> bool:
        """Return whether all rendered counters may be served, because no other exporter counts them; on any thread."""
        ...

    def close(self) -> None:
        """Release the storage for others."""


class MemoryStorage:
    """Keeps nothing: counters start again with each process."""

    location = ""
    is_shared = False

    def prepare(self) -> Opened | None:
        """Return None: nothing is stored."""
        return None

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:  # noqa: ARG002 - nothing is kept
        """Do nothing: the ledger keeps the rows in memory."""
        return ()

    def holds(self) -> bool:
        """Return True: no other process can use this memory."""
        return True

    def close(self) -> None:
        """Do nothing: nothing is open."""


class Unobserved:
    """Ignores all events of a ledger and its storage, which only the daemon needs: failed writes are logged."""

    def ignore(self, *_: object) -> None:
        """Ignore an event."""

    corrected = committed = commit_failed = set_aside = ignore
    claimed = lost = renewed = held = refused = took = ignore


def columns(key: PollKey) -> tuple[str, str, str, str]:
    """Return the columns that identify a row: collector, account, kind and id."""
    return key.collector, key.target.account, key.target.kind, key.target.id


def pack(families: Families) -> bytes:
    """Convert series to the bytes that are stored."""
    plain = {
        family: [[labels, to_plain(state)] for labels, state in states.items()] for family, states in families.items()
    }
    packed: bytes = msgpack.packb(plain)
    return packed


def unpack(packed: bytes) -> Families:
    """Convert stored bytes to series.

    Raises:
        ValueError: they have another form.
    """
    try:
        return {
            str(family): {tuple(map(str, labels)): from_plain(plain) for labels, plain in states}
            for family, states in msgpack.unpackb(packed).items()
        }
    except (TypeError, AttributeError, KeyError, msgpack.UnpackException) as error:
        raise ValueError("a row of the state does not have the form that this version writes") from error


# What is not a row of a target is in rows whose collector's name no version has as a collector, so that none unpacks
# them. The facts of a row have this after the name, and a success in the far future, beyond the retention of earlier
# versions; a moment of an account is the success of a row without a target.
FACTS = ":facts"
_NEVER = 2.0**53
PLATFORM_TIME, PAUSE = "platform_time", "pause"


def with_facts(targets: Mapping[PollKey, Stored | None]) -> dict[PollKey, Stored | None]:
    """Return the rows of targets and of their facts, as a storage keeps them."""
    facts = {
        facts_key(key): Stored("", _NEVER, row.facts) if row is not None else None
        for key, row in targets.items()
        if row is None or row.facts
    }
    return {**targets, **facts}


def moment(kind: str, account: str, seconds: float | None) -> dict[PollKey, Stored]:
    """Return the row of a moment of an account, such as the end of its pause; none if there is no such moment."""
    return {} if seconds is None else {PollKey.of(kind, account, "account", ""): Stored("", seconds, b"")}


def facts_key(key: PollKey) -> PollKey:
    """Return the key of the row that holds the facts of a row."""
    return PollKey(key.target, key.collector + FACTS)


def pack_facts(sights: Mapping[str, Sight]) -> bytes:
    """Convert what is known of families to the bytes that are stored."""
    plain = {
        family: [sight.declared, sight.day, list(sight.absent.items()), list(sight.stale)]
        for family, sight in sights.items()
    }
    packed: bytes = msgpack.packb(plain)
    return packed if plain else b""


def unpack_facts(packed: bytes) -> dict[str, Sight]:
    """Convert stored bytes to what is known of families; nothing if they have another form."""
    with suppress(TypeError, ValueError, AttributeError, msgpack.UnpackException):
        return {
            str(family): Sight(
                bytes(declared),
                date.fromordinal(day).toordinal(),
                {tuple(map(str, labels)): number(since) for labels, since in absent},
                {tuple(map(str, labels)) for labels in stale},
            )
            for family, (declared, day, absent, stale) in msgpack.unpackb(packed).items()
        }
    return {}


def whole_text(text: str) -> str:
    """Return a text that can be stored: an unpaired surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def report(write: Callable[..., object], event: str, **facts: str) -> None:
    """Write a log line if possible: a full disk may hold the log, too, and this must not stop the counters."""
    with suppress(OSError, ValueError):
        write(event, **facts)
