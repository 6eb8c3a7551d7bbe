"""The rows of the state: the counted families of a target, packed, and the names under which rows are kept."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import repeat
from operator import add, attrgetter, sub
from sys import intern
from typing import Any, NamedTuple

import msgpack

from exporter.counters.counting import CountedFamily, Families, Series
from exporter.counters.days import ChangeSeries, DaySeries
from exporter.counters.months import MonthSeries
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
    """Return a text that any storage can keep: half a character, and a zero, become question marks."""
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
    """Return the row of the list of an account's resources of a kind."""
    return account_key(_LIST + kind, account), StateRow("", _NEVER, packed)


def lists(rows: Mapping[PollKey, StateRow]) -> dict[tuple[str, str], bytes]:
    """Return the lists in such rows by account and kind."""
    found = ((key, row.data) for key, row in rows.items() if key.collector.startswith(_LIST))
    return {(key.target.account, key.collector.removeprefix(_LIST)): packed for key, packed in found}


def pack(families: Families) -> bytes:
    """Convert counted families to the bytes that are stored."""
    plain: list[object] = []
    for name, family in families.items():
        series = [[labels, _to_plain(state)] for labels, state in family.series.items()]
        absent = list(family.absent.items())
        flags = (family.is_anew, family.is_bounded, *family.shapes)
        plain.append([name, family.digest, family.day, series, absent, *flags])
    packed: bytes = msgpack.packb(plain)
    return packed


def unpack(packed: bytes) -> Families:
    """Convert stored bytes to counted families; what a shorter row lacks at its end has its default.

    Raises:
        ValueError: they have another form.
    """
    try:
        parts: Any = msgpack.unpackb(packed, use_list=False)
        return {str(name): _family(*values) for name, *values in parts}
    except (TypeError, ValueError, OverflowError, msgpack.UnpackException) as error:
        raise ValueError("a row of the state does not have the form that this version writes") from error


def _family(digest: bytes, day: int, series: Sequence[Any], absent: Sequence[Any] = (), *flags: bool) -> CountedFamily:
    is_anew, is_bounded, *shapes = flags or (False, False)
    states = {tuple(labels): _from_plain(*state) for labels, state in series}
    since = {tuple(labels): moment for labels, moment in absent}
    return CountedFamily(digest, day, states, since, is_anew, is_bounded, frozenset(shapes))


_KINDS: Mapping[str, type[Series]] = {"d": DaySeries, "m": MonthSeries, "c": ChangeSeries}
_VALUES = {kind: (letter, attrgetter(*(one.name for one in fields(kind)))) for letter, kind in _KINDS.items()}
# Where the charts of a series of days begin, after its first day, and two other values.
_CHARTS = 3


def _to_plain(series: Series) -> list[object]:
    """Return the values of a series in their order; days are counted from its first, as small numbers take one byte."""
    letter, values_of = _VALUES[type(series)]
    values = list(values_of(series))
    if isinstance(series, DaySeries):
        first = repeat(series.first_day)
        values[_CHARTS:] = [(list(map(sub, chart, first)), list(chart.values())) for chart in values[_CHARTS:]]
    return [letter, *values]


def _from_plain(letter: str, *plain: Any) -> Series:  # noqa: ANN401 - what was stored
    """Return the series of stored values; raises ValueError or TypeError if there are others."""
    if letter not in _KINDS:
        raise ValueError(letter)
    values = list(plain)
    if letter == "d":
        first = repeat(values[0])
        values[_CHARTS:] = [dict(zip(map(add, days, first), held, strict=True)) for days, held in values[_CHARTS:]]
    series = _KINDS[letter](*values)
    if not math.isfinite(series.value):
        raise ValueError(series.value)
    return series
