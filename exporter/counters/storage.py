"""What the ledger asks of its storage, and the rows that a storage keeps."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgpack

from exporter.counters.series import Series, from_plain, to_plain
from exporter.metric import LabelValues
from exporter.targets.target import PollKey

# family → values of the labels beyond the target's own → the series' state
Families = dict[str, dict[LabelValues, Series]]


class StorageError(Exception):
    """Nothing can be read or written now; a later attempt may succeed. The message holds no secret."""


class StateLockedError(StorageError):
    """Another process has the state file."""


class LeaseHeldError(StorageError):
    """Another exporter holds the lease of the shard; it is renewed, or ends by itself."""


class LeaseLostError(StorageError):
    """Another exporter has claimed the lease of the shard: nothing may be written."""


class Stored(NamedTuple):
    """A packed row: what is remembered of one target of one collector.

    Attributes:
        name: the target's name.
        success: unix seconds of its last successful poll.
        data: its series, packed.
    """

    name: str
    success: float
    data: bytes


class Opened(NamedTuple):
    """What was found in a storage that was opened.

    Attributes:
        rows: every row of this exporter.
        are_newer: whether the rows replace what the ledger holds in memory, because it holds nothing yet or another
            exporter may have gone on counting; otherwise the ledger writes what it holds.
        is_left: returns whether a row that the ledger holds is another exporter's now, and is to be dropped.
    """

    rows: dict[PollKey, Stored]
    are_newer: bool
    is_left: Callable[[PollKey], bool] = lambda _key: False


class Storage(Protocol):
    """Keeps the ledger's rows; used by one thread at a time."""

    @property
    def location(self) -> str:
        """Where the rows are kept, for logs, without a secret."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other exporters keep the rows of their own targets in it, too."""
        ...

    def prepare(self) -> Opened | None:
        """Make it usable; returns what it holds where it had to be opened, and None where it is open.

        Raises:
            StateLockedError: another process has the state file.
            StorageError: it is not usable now.
        """
        ...

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:
        """Write rows durably, and delete those that are None; each of them as it is given, however often.

        Returns:
            Rows that were not written, because another exporter counts them now.

        Raises:
            StorageError: not all of the others were written.
        """
        ...

    def holds(self) -> bool:
        """Whether all counters that are rendered may be served: no other exporter counts them; asked on any thread."""
        ...

    def close(self) -> None:
        """Leave it to others."""


class MemoryStorage:
    """Keeps nothing: counters start anew with the process."""

    location = ""
    is_shared = False

    def prepare(self) -> Opened | None:
        """Nothing is ever found."""
        return None

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:  # noqa: ARG002 - nothing is kept
        """The ledger's own memory suffices."""
        return ()

    def holds(self) -> bool:
        """No other process has this one's memory."""
        return True

    def close(self) -> None:
        """There is nothing to close."""


def columns(key: PollKey) -> tuple[str, str, str, str]:
    """The columns that identify a row: collector, account, kind and id."""
    return key.collector, key.target.account, key.target.kind, key.target.id


def pack(families: Families) -> bytes:
    """Series as they are stored."""
    plain = {
        family: [[labels, to_plain(state)] for labels, state in states.items()] for family, states in families.items()
    }
    packed: bytes = msgpack.packb(plain)
    return packed


def unpack(packed: bytes) -> Families:
    """The series that were stored.

    Raises:
        ValueError: they are not as this version writes them.
    """
    try:
        return {
            str(family): {tuple(map(str, labels)): from_plain(plain) for labels, plain in states}
            for family, states in msgpack.unpackb(packed).items()
        }
    except (TypeError, AttributeError, KeyError, msgpack.UnpackException) as error:
        raise ValueError("a row of the state is not as this version writes it") from error


def whole_text(text: str) -> str:
    """A text that can be stored: half a character, from an odd environment or file, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def report(write: Callable[..., object], event: str, **facts: str) -> None:
    """Log, as far as that is possible: the disk that is full may hold the log, too, and no counter stops for that."""
    with suppress(OSError, ValueError):
        write(event, **facts)
