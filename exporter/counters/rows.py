"""The rows of the state: the counted families of a target, packed, and the names under which rows are kept."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from operator import index
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


def columns(key: PollKey) -> tuple[str, str, str, str]:
    """Return the columns that identify a row: collector, account, kind and id."""
    return key.collector, key.target.account, key.target.kind, key.target.id


def whole_text(text: str) -> str:
    """Return a text that can be stored: an unpaired surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# Rows that belong to no target have a collector's name that no version uses, so that none unpacks them. The time of an
# account's platform is the success of such a row. A success in the far future keeps a row from deletion by age.
_NEVER = 2.0**53
_LIST = "list/"
PLATFORM_TIME = "platform_time"
# The kind of the key of such a row.
ACCOUNT = "account"


@cache
def account_key(kind: str, account: str) -> PollKey:
    """Return the key of a row of an account that belongs to no target, such as the time of its platform."""
    return PollKey.of(kind, account, ACCOUNT, "")


def listed(account: str, kind: str, packed: bytes) -> dict[PollKey, StateRow]:
    """Return the row of the list of an account's resources of a kind."""
    return {account_key(_LIST + kind, account): StateRow("", _NEVER, packed)}


def lists(rows: Mapping[PollKey, StateRow]) -> dict[tuple[str, str], bytes]:
    """Return the lists in such rows by account and kind."""
    found = ((key, row.data) for key, row in rows.items() if key.collector.startswith(_LIST))
    return {(key.target.account, key.collector.removeprefix(_LIST)): packed for key, packed in found}


# What a family of an earlier row may lack at its end: its absent label values, whether it started again, and whether it
# was bounded.
_REST_OF_FAMILY: tuple[Any, ...] = ((), 0, 0)
# What an earlier version stored of a gauge: its name and the label values that it had.
_PARTS_OF_GAUGE = 2


def pack(families: Families) -> bytes:
    """Convert counted families to the bytes that are stored."""
    plain: list[object] = []
    for name, family in families.items():
        series = [[labels, to_plain(state)] for labels, state in family.series.items()]
        absent = list(family.absent.items())
        plain.append([name, family.digest, family.day, series, absent, family.is_anew, family.is_bounded])
    packed: bytes = msgpack.packb(plain)
    return packed


def unpack(packed: bytes) -> Families:
    """Convert stored bytes to counted families.

    Raises:
        ValueError: they have another form.
    """
    try:
        parts: Any = msgpack.unpackb(packed, use_list=False)
        if isinstance(parts, dict):
            return {str(name): _former_family(series) for name, series in parts.items() if series}
        return dict(_family(plain) for plain in parts if len(plain) != _PARTS_OF_GAUGE)
    except (TypeError, ValueError, OverflowError, OSError, msgpack.UnpackException) as error:
        raise ValueError("a row of the state does not have the form that this version writes") from error


def _former_family(plain: Sequence[Any]) -> CountedFamily:
    """Return a family of an earlier version, whose rows say neither what it counts nor when it was first seen."""
    series = {tuple(map(str, labels)): from_plain(state) for labels, state in plain}
    firsts = [
        one.first_day if isinstance(one, DaySeries) else datetime.fromtimestamp(one.created, UTC).toordinal()
        for one in series.values()
        if not isinstance(one, ChangeSeries)
    ]
    return CountedFamily(b"", min(firsts), series)


def _family(plain: Sequence[Any]) -> tuple[str, CountedFamily]:
    name, digest, day, series, *rest = plain
    absent, is_anew, is_bounded = (*rest, *_REST_OF_FAMILY[len(rest) :])
    family = CountedFamily(
        digest, date.fromordinal(day).toordinal(), is_anew=bool(is_anew), is_bounded=bool(is_bounded)
    )
    family.series = {tuple(map(str, labels)): from_plain(state) for labels, state in series}
    family.absent = {tuple(map(str, labels)): float(since) for labels, since in absent}
    if not (isinstance(name, str) and isinstance(digest, bytes)):
        raise TypeError
    return name, family


_NO_FORMER = -1.0


def to_plain(series: Series) -> list[object]:
    """Convert a series to plain values; mostly small integers, which take the fewest bytes."""
    if isinstance(series, DaySeries):
        charts = [_column(days, series.first_day) for days in (series.highs, series.baselines, series.lasts)]
        whole = [1] if series.is_whole else []
        return ["d", series.created, series.first_day, series.closed, series.shut, *charts, *whole]
    if isinstance(series, ChangeSeries):
        return ["c", series.mark, series.value]
    former = _NO_FORMER if series.former is None else series.former
    return ["m", *astuple(replace(series, former=former))]


def from_plain(plain: Sequence[Any]) -> Series:
    """Convert the plain values of a packed row to a series; raises ValueError or TypeError if there are others."""
    kind, *fields = plain
    series: Series
    if kind == "c":
        series = ChangeSeries(*fields)
    elif kind == "m":
        series = MonthSeries(*fields)
        series.former = None if series.former == _NO_FORMER else series.former
    elif kind == "d":
        created, first_day, closed, shut, *columns = fields
        highs, baselines, lasts = (_days(column, first_day) for column in columns[:3])
        series = DaySeries(created, first_day, closed, shut, highs, baselines, lasts, is_whole=len(columns) > 3)  # noqa: PLR2004 - three charts
    else:
        raise ValueError(kind)
    if not math.isfinite(series.value):
        raise ValueError(series.value)
    return series


def _column(days: dict[int, float], first_day: int) -> tuple[tuple[float, ...], ...]:
    return (_offsets(tuple(days), first_day), tuple(days.values())) if days else ()


# Nearly all series of a family have the same days; these caches halve the time to read and write a row.
@lru_cache(maxsize=256)
def _offsets(days: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    return tuple(day - first_day for day in days)


@lru_cache(maxsize=256)
def _ordinals(offsets: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    return tuple(first_day + index(offset) for offset in offsets)


def _days(column: Sequence[Any], first_day: int) -> dict[int, float]:
    if not column:
        return {}
    offsets, held = column
    return dict(zip(_ordinals(offsets, first_day), held, strict=True))
