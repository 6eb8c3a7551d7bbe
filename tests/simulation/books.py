"""Compares the counters in scrapes with the bounds that follow from the saved answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby

from exporter.counters.storage import Changes
from tests.simulation.machine import Samples
from tests.simulation.platform_model import PERHAPS, SURELY, Answer
from tests.simulation.reference import Days, Month, days_counter, may_be_clipped, month_counter

# Kind of target → its counter, and the label with its id.
COUNTERS = {
    "dns_zone": ("edge_dns_queries_total", "zone_id"),
    "script": ("edge_script_requests_total", "script_id"),
    "rate_limit": ("edge_shield_rate_limit_breaches_total", "rate_limit_id"),
}
Counter = tuple[str, str, str]


def _run(kind: str, answers: Sequence[Answer]) -> float:
    """Return the value that a counter must have after answers of one address."""
    own = [(datetime.fromtimestamp(int(one.at), UTC), one) for one in answers]
    if not own:
        return 0.0
    if kind == "dns_zone":
        return days_counter([Days(now, one.truth) for now, one in own])
    if kind == "script":
        return float(month_counter([Month(now, one.truth, one.wall) for now, one in own]))
    # The days of each action are counted separately; the oldest day of the window is that of all actions.
    total, first, seen = 0, own[0], dict[tuple[str, int], list[int]]()
    for now, one in own:
        window = Days(now, {day: 0 for days in one.truth.values() for day in days})
        for action, day in ((action, day) for action, days in one.truth.items() for day in days):
            if not may_be_clipped(day, window, first[0].toordinal()):
                seen.setdefault((action, day), []).append(one.truth[action][day])
    for (action, day), counts in seen.items():
        history = counts[0] if day < first[0].toordinal() else first[1].truth[action].get(day, 0)
        total += max(counts) - history
    return total


def _runs(answers: Iterable[Answer]) -> list[list[Answer]]:
    """Divide answers where their address changes: there a counter starts again."""
    return [list(run) for _, run in groupby(answers, key=lambda answer: answer.host)]


@dataclass(eq=False)
class Books:
    """Compares the increase of each counter, as scrapes have seen it, with what the platform has shown.

    Attributes:
        answers: account, kind and id → the good answers that the daemon has received, in their order.
        increases: account, kind and id → the increase over all scrapes, with resets, as Prometheus computes it.
    """

    answers: Mapping[Counter, list[Answer]]
    increases: dict[Counter, float] = field(default_factory=dict)
    _last: dict[tuple[str, ...], float] = field(default_factory=dict)
    # How often a counter was seen to start again, and its increase until the last time.
    _resets: dict[Counter, tuple[int, float]] = field(default_factory=dict)

    def wrote(self, life: int, rows: Changes, is_acknowledged: bool) -> None:  # noqa: FBT001
        """Note which answers the disk contains: the one at the wall time in its row, and all earlier ones."""
        for key, row in rows.items():
            counter = (key.target.account, key.target.kind, key.target.id)
            own = [one for one in self.answers.get(counter, ()) if one.life == life]
            place = max((at for at, one in enumerate(own) if row and one.wall == row.success), default=-1)
            for at, answer in enumerate(own[: place + 1]):
                answer.counted = max(answer.counted, SURELY if is_acknowledged and at == place else PERHAPS)

    def scraped(self, samples: Samples) -> None:
        """Add the values of a scrape."""
        reset: set[Counter] = set()
        for kind, (family, label) in COUNTERS.items():
            for labels, value in samples.get(family, {}).items():
                own = dict(labels)
                counter, series = (
                    (own["account"], kind, own[label]),
                    (own["account"], kind, own[label], own.get("action", "")),
                )
                before = self._last.get(series, 0.0)
                begun, (resets, _) = len(_runs(self.answers[counter])), self._resets.get(counter, (0, 0.0))
                assert value >= before or resets + 1 < begun, f"{counter} fell from {before} to {value}"
                rise = value - before if value >= before else value
                if value < before:
                    reset.add(counter)
                self.increases[counter] = self.increases.get(counter, 0.0) + rise
                self._last[series] = value
        for counter in reset:
            number, _ = self._resets.get(counter, (0, 0.0))
            self._resets[counter] = number + 1, self.increases[counter]

    def bounds(self, counter: Counter) -> tuple[float, float]:
        """Return the least and the most that a counter may have increased since the beginning."""
        answers, kind = self.answers[counter], counter[1]
        most = sum(_run(kind, run) for run in _runs(one for one in answers if one.counted))
        # A lost answer may have started the counter again. Counts that no scrape saw before that are not guaranteed.
        runs = _runs(answers)
        resets, before = self._resets.get(counter, (0, 0.0))
        least = before + _run(kind, [one for one in runs[-1] if one.counted == SURELY])
        return (least if resets >= len(runs) - 1 else 0.0), most

    def check(self, complete: Collection[Counter] = ()) -> None:
        """Compare every counter with its bounds; those in `complete` must have counted everything."""
        for counter in self.answers:
            (least, most), found = self.bounds(counter), self.increases.get(counter, 0.0)
            assert found <= most + 1e-6, f"{counter} counted {found}, and the disk has at most {most}"
            if counter in complete:
                assert found >= least - 1e-6, f"{counter} counted {found} of {least}"
