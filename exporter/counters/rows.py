"""The rows of the state: a target's series and facts, packed, and the names under which they are kept."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from datetime import date
from functools import cache, lru_cache
from operator import index
from typing import NamedTuple

import msgpack

from exporter.counters.months import MonthSeries
from exporter.counters.series import DaySeries, FamilyFacts, Series
from exporter.metric import LabelValues
from exporter.targets.target import PollKey

# family → label values beyond the target's → the series' state
Families = dict[str, dict[LabelValues, Series]]
_NO_NUMBER = "a series of the state holds a value that is not a number"


class StateRow(NamedTuple):
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


def columns(key: PollKey) -> tuple[str, str, str, str]:
    """Return the columns that identify a row: collector, account, kind and id."""
    return key.collector, key.target.account, key.target.kind, key.target.id


def whole_text(text: str) -> str:
    """Return a text that can be stored: an unpaired surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# What is not a row of a target is in rows whose collector's name no version has as a collector, so that none unpacks
# them. The facts of a row have this after the name, and a success in the far future, beyond the retention of earlier
# versions; a moment of an account is the success of a row without a target.
FACTS = ":facts"
NEVER = 2.0**53
_LIST = "list/"
PLATFORM_TIME, PAUSE = "platform_time", "pause"
# An account's platform: a digest of its address, and the moment from which the account is there.
ADDRESS = "address"


def facts_key(key: PollKey) -> PollKey:
    """Return the key of the row that holds the facts of a row."""
    return PollKey(key.target, key.collector + FACTS)


@cache
def account_key(kind: str, account: str) -> PollKey:
    """Return the key of a row of an account that belongs to no target, such as the moment at which its pause ends."""
    return PollKey.of(kind, account, "account", "")


def listed(account: str, kind: str, packed: bytes) -> dict[PollKey, StateRow]:
    """Return the row of the list of an account's resources of a kind."""
    return {account_key(_LIST + kind, account): StateRow("", NEVER, packed)}


def lists(rows: Mapping[PollKey, StateRow]) -> dict[tuple[str, str], bytes]:
    """Return the lists in such rows by account and kind."""
    found = ((key, row.data) for key, row in rows.items() if key.collector.startswith(_LIST))
    return {(key.target.account, key.collector.removeprefix(_LIST)): packed for key, packed in found}


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
            for family, states in msgpack.unpackb(packed, use_list=False).items()
        }
    except (TypeError, AttributeError, KeyError, msgpack.UnpackException) as error:
        raise ValueError("a row of the state does not have the form that this version writes") from error


def pack_facts(facts: Mapping[str, FamilyFacts]) -> bytes:
    """Convert what is known of families to the bytes that are stored."""
    plain = {
        family: [known.declared, known.day, list(known.absent.items()), list(known.stale)]
        for family, known in facts.items()
    }
    packed: bytes = msgpack.packb(plain)
    return packed


def unpack_facts(packed: bytes) -> dict[str, FamilyFacts]:
    """Convert stored bytes to what is known of families; nothing if they have another form."""
    with suppress(TypeError, ValueError, AttributeError, msgpack.UnpackException):
        return {
            str(family): FamilyFacts(
                bytes(declared),
                date.fromordinal(day).toordinal(),
                {tuple(map(str, labels)): _number(since) for labels, since in absent},
                {tuple(map(str, labels)) for labels in stale},
            )
            for family, (declared, day, absent, stale) in msgpack.unpackb(packed).items()
        }
    return {}


# A row of version 0.1 has the first values of a month alone; those that equal these at its end are left out.
_FIRST_OF_MONTH = 7
_NO_FORMER = -1.0
_REST_OF_MONTH = (0.0, 0.0, _NO_FORMER, 0.0, 0.0)


def to_plain(series: Series) -> list[object]:
    """Convert a series to plain values; mostly small integers, which take the fewest bytes."""
    if isinstance(series, DaySeries):
        charts = [_column(days, series.first_day) for days in (series.highs, series.baselines, series.lasts)]
        whole = [1] if series.is_whole else []
        return ["d", series.created, series.first_day, series.closed, series.shut, *charts, *whole]
    former = _NO_FORMER if series.former is None else series.former
    plain = [int(value) if isinstance(value, bool) else value for value in astuple(replace(series, former=former))]
    while len(plain) > _FIRST_OF_MONTH and plain[-1] == _REST_OF_MONTH[len(plain) - 1 - _FIRST_OF_MONTH]:
        plain.pop()
    return ["m", *plain]


def from_plain(plain: object) -> Series:
    """Convert the plain values of a packed row to a series.

    Raises:
        ValueError: the row has another form.
    """
    match plain:
        case ["m", *fields] if 0 <= len(fields) - _FIRST_OF_MONTH <= len(_REST_OF_MONTH):
            rest = _REST_OF_MONTH[len(fields) - _FIRST_OF_MONTH :]
            values = [*map(_number, fields), *rest]
            created, month, polled, baseline, high, last, closed, seen, has_fallen, former, guard, is_held = values
            months = MonthSeries(created, int(month), polled, baseline, high, last, closed, seen, guard=guard)
            months.has_fallen, months.is_held = bool(has_fallen), bool(is_held)
            months.former = None if former < 0 else former
            return months
        case ["d", created, first_day, closed, shut, highs, baselines, lasts, *whole] if whole in ([], [1]):
            first = int(_number(first_day))
            days = DaySeries(_number(created), first, _number(closed), int(_number(shut)), is_whole=bool(whole))
            days.highs, days.baselines, days.lasts = (_days(column, first) for column in (highs, baselines, lasts))
            return days
    raise ValueError("a series of the state does not have the form that this version writes")


def _number(value: object) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ValueError(_NO_NUMBER)


def _column(days: dict[int, float], first_day: int) -> tuple[tuple[float, ...], ...]:
    return (_offsets(tuple(days), first_day), tuple(days.values())) if days else ()


# Nearly all series of a family have the same days; these caches halve the time to read and write a row.
@lru_cache(maxsize=256)
def _offsets(days: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    return tuple(day - first_day for day in days)


@lru_cache(maxsize=256)
def _ordinals(offsets: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    return tuple(first_day + index(offset) for offset in offsets)


def _days(column: object, first_day: int) -> dict[int, float]:
    match column:
        case ():
            return {}
        case (tuple(offsets), tuple(held)):
            try:
                # One sum checks all values at once: it fails, or is not finite, if one of them is not a number.
                if math.isfinite(sum(held)):
                    return dict(zip(_ordinals(offsets, first_day), held, strict=True))
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(_NO_NUMBER) from error
    raise ValueError("a series of the state has days in another form than this version writes")
