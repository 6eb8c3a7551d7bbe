"""The rows of the state, the keys of rows, and the columns in which keys and rows are stored."""

from collections.abc import Iterable, Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

import msgspec

from exporter.counters.counting import Families
from exporter.targets.target import PollKey


class StateRow(NamedTuple):
    """The state of one target of one collector, or a fact about an account (`account_key`).

    Attributes:
        success: for a target, the time of the last successful poll, in unix seconds.
        data: for a target, the counted families, packed (`pack`).
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
    """Return the columns of the rows, sorted by key columns. Rows to delete (None) are left out."""
    # `storable` may make two keys equal: then the later row is returned.
    written = {key_columns(key): row for key, row in rows.items() if row is not None}
    return [(*key, storable(row.name), row.success, row.data) for key, row in sorted(written.items())]


def from_columns(stored: Iterable[Sequence[Any]]) -> dict[PollKey, StateRow]:
    """Return key → row, from the stored columns (`Columns`)."""
    # Thousands of rows have the same collector, account or kind: an interned text takes memory once.
    return {
        PollKey.of(intern(collector), intern(account), intern(kind), target_id): StateRow(name, success, data)
        for collector, account, kind, target_id, name, success, data in stored
    }


def storable(text: str) -> str:
    """Return a text that both storages can keep: lone surrogates and NUL become question marks."""
    if not text.isascii() or "\0" in text:
        text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
    return text


# Some rows belong to an account and not to a target: one has the platform's time (in `success`), the others have lists
# of the account's resources (in `data`). The id of these rows is empty. The `success` of a list is far in the future,
# so that the list is not deleted by age.
_NEVER_OLD = 2.0**53
_LIST = "list/"
PLATFORM_TIME = "platform_time"


def account_key(name: str, account: str) -> PollKey:
    """Return the key of a row that belongs to an account; `name`, such as `PLATFORM_TIME`, identifies the content."""
    return PollKey.of(name, account, "account", "")


def list_row(account: str, kind: str, packed: bytes) -> tuple[PollKey, StateRow]:
    """Return the key and the row that store the list of an account's resources of a kind."""
    return account_key(_LIST + kind, account), StateRow("", _NEVER_OLD, packed)


def packed_lists(rows: Mapping[PollKey, StateRow]) -> dict[tuple[str, str], bytes]:
    """Return the stored lists, by account and kind."""
    found = ((key, row.data) for key, row in rows.items() if key.collector.startswith(_LIST))
    return {(key.target.account, key.collector.removeprefix(_LIST)): packed for key, packed in found}


def pack(families: Families) -> bytes:
    """Convert counted families to the bytes that are stored."""
    return msgspec.msgpack.encode(families)


_DECODER = msgspec.msgpack.Decoder(Families)


def unpack(packed: bytes) -> Families:
    """Convert stored bytes to counted families. Fields that an earlier version did not store get default values.

    Raises:
        ValueError: the bytes have another form.
    """
    return _DECODER.decode(packed)
