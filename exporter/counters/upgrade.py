"""Converts the rows of earlier versions, which have no digests, to the present form.

Earlier versions kept in rows of their own what identifies a counter: a digest of each account's address, and what a
configured family counts, in a row beside the target's. They also stored the pause that a platform had asked for.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from hashlib import blake2b, sha256
from typing import NamedTuple

import msgpack

from exporter.counters.changes import ChangeSeries
from exporter.counters.counting import CountedFamily, Families, Series, States, digest_of
from exporter.counters.rows import StateRow, account_key, from_plain, number, pack
from exporter.counters.series import DaySeries
from exporter.metric import LabelValues
from exporter.targets.target import PollKey

_FACTS = ":facts"
_PAUSE, _ADDRESS = "pause", "address"
# Of an earlier version's declaration, the digest of the address comes first.
_ADDRESS_BYTES = 6
# No family has this digest, so one with it starts anew.
_ELSEWHERE = b"elsewhere"


class _Facts(NamedTuple):
    """What a configured family counts, its first sight, and its label values that no answer contains."""

    declared: bytes
    day: int
    absent: Mapping[LabelValues, float]
    # Those of the absent ones that counted something else.
    stale: frozenset[LabelValues]


def upgraded(
    rows: Mapping[PollKey, StateRow], addresses: Mapping[str, str], *, is_shared: bool
) -> Iterator[tuple[PollKey, StateRow | None]]:
    """Yield the rows that change, in their present form; None for a row that is not needed any more.

    A row that cannot be read is left as it is.

    Args:
        rows: all rows of a storage.
        addresses: account → its present base address.
        is_shared: whether other exporters may still need the accounts' rows for their own.
    """
    for key, row in rows.items():
        if key.collector == _ADDRESS and is_shared:
            continue
        if key.collector in (_PAUSE, _ADDRESS) or key.collector.endswith(_FACTS):
            yield key, None
        elif _is_former(row):
            account = key.target.account
            address, place = addresses.get(account, ""), rows.get(account_key(_ADDRESS, account))
            facts = rows.get(PollKey(key.target, key.collector + _FACTS))
            with suppress(TypeError, ValueError, AttributeError, OverflowError, OSError, msgpack.UnpackException):
                digest = _ELSEWHERE if place is not None and _is_elsewhere(row, place, address) else b""
                known = {} if facts is None else _facts_of(facts.data)
                families = _families(row.data, known, address, digest)
                yield key, row._replace(data=pack(families))


def _is_former(row: StateRow) -> bool:
    """Return whether a row has the former form: a map of families, where the present one is a list."""
    first = row.data[:1]
    return b"\x80" <= first <= b"\x8f" or first in (b"\xde", b"\xdf")


def _is_elsewhere(row: StateRow, place: StateRow, address: str) -> bool:
    """Return whether a row was counted at another address: its account's is another one now, or has been since."""
    return place.data.decode() != sha256(address.encode()).hexdigest()[:16] or row.success < place.success


def _facts_of(packed: bytes) -> dict[str, _Facts]:
    return {
        str(name): _Facts(
            bytes(declared),
            date.fromordinal(day).toordinal(),
            {tuple(map(str, labels)): number(since) for labels, since in absent},
            frozenset(tuple(map(str, labels)) for labels in stale),
        )
        for name, (declared, day, absent, stale) in msgpack.unpackb(packed).items()
    }


def _families(packed: bytes, known: Mapping[str, _Facts], address: str, digest: bytes) -> Families:
    """Return the families of a row; `digest` is for those without facts."""
    families: Families = {}
    for name, series in msgpack.unpackb(packed, use_list=False).items():
        states: States = {tuple(map(str, labels)): from_plain(plain) for labels, plain in series}
        facts = known.get(name)
        if facts is None and states:
            families[name] = CountedFamily(digest, min(map(_first_day, states.values())), states)
        elif facts is not None:
            kept = {labels: one for labels, one in states.items() if labels not in facts.stale}
            absent = {labels: since for labels, since in facts.absent.items() if labels in kept}
            families[name] = CountedFamily(_digest(facts, address), facts.day, kept, absent)
    return families


def _digest(facts: _Facts, address: str) -> bytes:
    here = blake2b(address.encode(), digest_size=_ADDRESS_BYTES).digest()
    own, declared = facts.declared[:_ADDRESS_BYTES], facts.declared[_ADDRESS_BYTES:]
    return digest_of(address, declared) if own == here else _ELSEWHERE


def _first_day(series: Series) -> int:
    if isinstance(series, DaySeries):
        return series.first_day
    moment = series.value if isinstance(series, ChangeSeries) else series.created
    return datetime.fromtimestamp(moment, UTC).toordinal()
