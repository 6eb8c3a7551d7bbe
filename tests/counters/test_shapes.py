"""A map of days that changes between counts by action and plain numbers: the sum over actions is always right."""

import random
from collections.abc import Mapping
from datetime import timedelta

import pytest

from exporter.counters.days import DaySeries
from exporter.counters.series import Series, advance_family, from_plain, to_plain
from exporter.metric import DayBuckets, LabelValues, Source
from tests.counters.series import DAY_0, FIRST_SIGHT

ACTIONS = ("logged", "challenged", "blocked")
Objects = Mapping[int, tuple[int, int, int]]


class Limit:
    """A rate limit that is polled in either shape of its map."""

    def __init__(self) -> None:
        self.states: dict[LabelValues, Series] = {}
        self.corrections = 0

    def poll(self, day: float, objects: Objects, plain: Mapping[int, int] | None = None) -> dict[str, float]:
        """Poll at noon of a day; return the served values by action."""
        sources: list[tuple[LabelValues, Source]] = []
        if objects or plain is None:
            sources += [
                ((action,), DayBuckets({DAY_0 + number: counts[index] for number, counts in objects.items()}))
                for index, action in enumerate(ACTIONS)
            ]
        if plain is not None:
            days = {DAY_0 + number: count for number, count in plain.items()}
            sources.append((("unclassified",), DayBuckets(days, is_whole=True)))
        now = FIRST_SIGHT + timedelta(days=day)
        self.corrections += advance_family(self.states, sources, now, now.timestamp())
        # What is stored is what goes on.
        self.states = {labels: from_plain(to_plain(series)) for labels, series in self.states.items()}
        return {labels[0]: series.value for labels, series in self.states.items()}

    def plain(self, day: float, counts: Mapping[int, int]) -> dict[str, float]:
        """Poll a map of plain numbers."""
        return self.poll(day, {}, counts)


@pytest.fixture
def limit() -> Limit:
    return Limit()


def test_plain_days_are_counted_by_themselves(limit: Limit) -> None:
    assert limit.plain(0, {-2: 5, -1: 30, 0: 10}) == {"unclassified": 0}
    assert limit.plain(0.1, {-2: 5, -1: 30, 0: 13}) == {"unclassified": 3}
    assert limit.plain(1, {-2: 5, -1: 31, 0: 14, 1: 7}) == {"unclassified": 12}


def test_what_actions_have_counted_is_no_rise_of_the_plain_number(limit: Limit) -> None:
    limit.poll(0, {0: (5, 3, 2)})
    assert limit.poll(0.1, {0: (6, 3, 2)}) == {"logged": 1, "challenged": 0, "blocked": 0}
    assert limit.plain(0.2, {0: 13}) == {"logged": 1, "challenged": 0, "blocked": 0, "unclassified": 2}


def test_days_before_the_first_sight_stay_history_after_another_day_has_fallen(limit: Limit) -> None:
    limit.plain(0, {-2: 10, -1: 10, 0: 10})
    limit.poll(0.1, {-2: (5, 3, 2), -1: (5, 3, 2), 0: (5, 3, 2)})
    for day in (0.2, 0.3):
        assert sum(limit.plain(day, {-2: 10, -1: 10, 0: 9}).values()) == 0


def test_what_was_counted_as_unclassified_is_no_rise_of_an_action(limit: Limit) -> None:
    limit.poll(0, {0: (5, 3, 2)})
    limit.plain(0.1, {0: 12})
    assert sum(limit.poll(0.2, {0: (6, 3, 4)}).values()) == 3
    assert sum(limit.plain(0.3, {0: 15}).values()) == 5
    assert sum(limit.poll(0.4, {0: (7, 4, 4)}).values()) == 5
    assert sum(limit.poll(0.5, {0: (7, 4, 6)}).values()) == 7
    assert limit.corrections == 0


def test_a_plain_number_below_what_actions_have_counted_lowers_nothing(limit: Limit) -> None:
    limit.poll(0, {0: (5, 3, 2)})
    limit.poll(0.1, {0: (15, 3, 2)})
    assert limit.plain(0.2, {0: 12}) == {"logged": 10, "challenged": 0, "blocked": 0, "unclassified": 0}
    assert sum(limit.plain(0.3, {0: 25}).values()) == 15


def test_days_of_which_the_other_shape_was_seen_alone_are_no_history(limit: Limit) -> None:
    """There are no polls while the shape changes and days pass."""
    limit.plain(0, {0: 10})
    assert sum(limit.poll(3, {0: (5, 5, 1), 1: (1, 2, 3), 3: (4, 0, 0)}).values()) == 1 + 6 + 4


def test_a_late_rise_of_an_old_day_is_counted_in_whichever_shape_it_comes(limit: Limit) -> None:
    limit.plain(0, {-9: 1, -5: 20})
    assert sum(limit.poll(0.1, {-9: (1, 0, 0), -5: (20, 1, 1)}).values()) == 2
    assert sum(limit.plain(0.2, {-9: 1, -5: 23}).values()) == 3


def test_after_a_null_map_the_day_of_the_first_sight_counts_from_0(limit: Limit) -> None:
    limit.poll(0, {})
    assert sum(limit.plain(0.1, {-1: 30, 0: 12}).values()) == 12


def test_a_map_of_both_shapes_counts_each_day_once(limit: Limit) -> None:
    limit.plain(0, {0: 10})
    assert sum(limit.poll(1, {1: (1, 1, 1)}, {0: 14}).values()) == 4 + 3
    assert sum(limit.poll(1.1, {0: (10, 4, 1), 1: (2, 1, 1)}, {}).values()) == 5 + 4


def test_families_without_shapes_keep_their_series_apart() -> None:
    states: dict[LabelValues, Series] = {}
    for now, days in ((FIRST_SIGHT, {DAY_0: 5}), (FIRST_SIGHT, {DAY_0: 8})):
        advance_family(states, [(("a",), DayBuckets(days)), (("b",), DayBuckets(days))], now, now.timestamp())
    assert [series.value for series in states.values()] == [3, 3]
    assert not any(isinstance(series, DaySeries) and series.is_whole for series in states.values())


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_shapes_the_sum_is_what_truly_happened(limit: Limit, seed: int) -> None:
    """Breaches occur today and on earlier days, for 80 days; those before the first sight are history."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    truth = {day: [chance.randrange(9) for _ in ACTIONS] for day in range(-27, 1)}
    day, happened, before = 0.0, 0, 0.0
    for _ in range(300):
        today = int(day)
        shown = {past: counts for past, counts in truth.items() if today - 27 <= past <= today and any(counts)}
        objects = {past: (counts[0], counts[1], counts[2]) for past, counts in shown.items()}
        plain = {past: sum(counts) for past, counts in shown.items()}
        split = chance.choice((-99, 99, chance.randrange(today - 27, today + 1)))
        served = limit.poll(
            day,
            {past: counts for past, counts in objects.items() if past >= split},
            {past: count for past, count in plain.items() if past < split} or None,
        )
        total = sum(served.values())
        assert total == happened
        assert total >= before
        before = total
        day += chance.choice((0.0, 0.01, 0.5, 1.0, 3.0)) if day < 80 else 0.0
        for _ in range(chance.randrange(4)):
            # The oldest days are about to be clipped, and days that were never in the map are history.
            past = int(day) - chance.choice((0, 0, 0, 1, 2, 9))
            if past >= 0 or any(truth.get(past, [0])):
                truth.setdefault(past, [0, 0, 0])[chance.randrange(3)] += (rise := chance.randrange(50))
                happened += rise
    assert limit.corrections == 0
