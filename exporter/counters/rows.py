"""The rows of the state: the counted families of a target, packed, and the names under which rows are kept."""

from collections.abc import Iterable, Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

import msgspec

from exporter.counters.counting import Families
from exporter.targets.target import PollKey


class StateRow(NamedTuple):
    """A packed row: the state of one target of one collector.

    Attributes:
        name: the target's name.
        success: unix seconds of its last successful poll.
        data: its counted families, packed.
    """

    name: str
    success: float
    data: bytes


# Stored columns: collector, account, kind, id, name, success and data.
Columns = tuple[str, str, str, str, str, float, bytes]


def key_columns(key: PollKey) -> tuple[str, str, str, str]:
    """Return the columns that identify a row: collector, account, kind and id."""
    target = key.target
    return storable(key.collector), storable(target.account), storable(target.kind), storable(target.id)


def to_columns(rows: Mapping[PollKey, StateRow | None]) -> list[Columns]:
    """Return the columns of the rows that are written, in the order of their keys."""
    # A text that was changed may equal that of another row: the later one stays.
    written = {key_columns(key): row for key, row in rows.items() if row is not None}
    return [(*key, storable(row.name), row.success, row.data) for key, row in sorted(written.items())]


def from_columns(found: Iterable[Sequence[Any]]) -> dict[PollKey, StateRow]:
    """Return the rows that were read."""
    # Thousands of rows share their first three texts.
    return {
        PollKey.of(intern(collector), intern(account), intern(kind), target_id): StateRow(name, success, data)
        for collector, account, kind, target_id, name, success, data in found
    }


def storable(text: str) -> str:
    """Return a text that any storage can keep: lone surrogates and NUL become question marks."""
    if not text.isascii() or "\0" in text:
        text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
    return text


# Rows that belong to no target have a collector's name that no version uses, so that none unpacks them. The time of an
# account's platform is the success of such a row. A success in the far future keeps a row from deletion by age.
_NEVER = 2.0**53
_LIST = "list/"
PLATFORM_TIME = "platform_time"
# The kind of the key of such a row.
ACCOUNT = "account"


def account_key(kind: str, account: str) -> PollKey:
    """Return the key of a row of an account that belongs to no target, such as the time of its platform."""
    return PollKey.of(kind, account, ACCOUNT, "")


def listed(account: str, kind: str, packed: bytes) -> tuple[PollKey, StateRow]:
    """Return the row that stores the list of an account's resources of a kind."""
    return account_key(_LIST + kind, account), StateRow("", _NEVER, packed)


def lists(rows: Mapping[PollKey, StateRow]) -> dict[tuple[str, str], bytes]:
    """Return the lists in such rows by account and kind."""
    found = ((key, row.data) for key, row in rows.items() if key.collector.startswith(_LIST))
    return {(key.target.account, key.collector.removeprefix(_LIST)): packed for key, packed in found}


def pack(families: Families) -> bytes:
    """Convert counted families to the bytes that are stored."""
    return msgspec.msgpack.encode(families)


_DECODER = msgspec.msgpack.Decoder(Families)


def unpack(packed: bytes) -> Families:
    """Convert stored bytes to counted families; what a shorter row lacks at its end has its default.

    Raises:
        ValueError: they have another form.
    """
    return _DECODER.decode(packed)
