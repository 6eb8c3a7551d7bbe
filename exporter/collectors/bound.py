"""Bounds how many label values of a metric a target's gauges have; which ones are kept is steady.

The ledger does the same for counters, whose places are the series that it has.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from exporter.metric import Family, LabelValues, Places, admitted


class Bounded(NamedTuple):
    """The families of a target within the bound.

    Attributes:
        places: the places after this answer; label values that no answer contains keep theirs.
        left_out: family → how many label values in this answer have no place.
    """

    families: tuple[Family, ...]
    places: Places
    left_out: Mapping[str, int]


# Targets of a kind mostly have the same label values, and share one object.
@lru_cache(maxsize=64)
def _shared(places: Places) -> Places:
    return places


def bound(families: Iterable[Family], places: Places, limit: int) -> Bounded:
    """Leave out the label values that have no place; new ones get the free places in the order of their names.

    Args:
        families: the families of a target.
        places: the places of the target's earlier answers.
        limit: the most label values of a family.
    """
    known, changed = dict(places), dict[str, tuple[LabelValues, ...]]()
    within, left_out = list[Family](), dict[str, int]()
    for info, samples in families:
        if not info.own:
            within.append(Family(info, samples))
            continue
        offered = [sample.values[-info.own :] for sample in samples]
        by_name, chosen = tuple(sorted(offered)), known.get(info.name)
        # Mostly an answer has the label values of the one before.
        if chosen != by_name or len(by_name) > limit:
            chosen = changed[info.name] = admitted(chosen or (), by_name, limit)
        kept = samples
        # Where places are free, each label value has one.
        if len(chosen) == limit:
            with_place = frozenset(chosen)
            kept = tuple(sample for sample, values in zip(samples, offered, strict=True) if values in with_place)
        if len(kept) < len(samples):
            left_out[info.name] = len(samples) - len(kept)
        if kept:
            within.append(Family(info, kept))
    return Bounded(tuple(within), _shared(tuple((known | changed).items())) if changed else places, left_out)
