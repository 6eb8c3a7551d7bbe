"""Merges the samples of all replicas, like a Prometheus that scrapes them all, and records forbidden changes."""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_REFUSED = "edge_exporter_ledger_refused_rows_total"
_LOSSES = "edge_exporter_shard_losses_total{"

Samples = dict[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a process.

    Attributes:
        process: its name.
        earliest: the monotonic time before which it cannot have been made: that of the request, or of the process's
            resumption.
        received: the monotonic time at which it was received.
        counters: the counters of targets.
        own: the program's own samples.
        was_suspended: whether the process was suspended at the time of the request.
    """

    process: str
    earliest: float
    received: float
    counters: Mapping[str, float]
    own: Mapping[str, float]
    was_suspended: bool = False


@dataclass
class _History:
    """The values of a series, each higher than the one before, with the times of their receipt."""

    received: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def before(self, moment: float) -> float:
        """Return the highest value that was received up to a time."""
        place = bisect_right(self.received, moment)
        return self.values[place - 1] if place else 0.0

    def add(self, value: float, received: float) -> None:
        """Record a value if it is higher than all before."""
        if not self.values or (value > self.values[-1] and received >= self.received[-1]):
            self.received.append(received)
            self.values.append(value)


@dataclass
class Witness:
    """The samples served so far.

    Attributes:
        falls: what was served although a higher value had come before it can have been made.
        event: what happens at the moment.
        longest_gaps: event → the longest time, in seconds, in which no replica served a series that had been served; by
            what happened when it was missed first.
        suspended: answers of processes that were suspended when they were asked.
        suspended_counters: counters in those answers.
        rounds: how many rounds there were.
    """

    falls: list[str] = field(default_factory=list)
    event: str = ""
    longest_gaps: dict[str, float] = field(default_factory=dict)
    suspended: int = 0
    suspended_counters: int = 0
    rounds: int = 0
    _histories: dict[str, _History] = field(default_factory=dict)
    _seen: dict[str, float] = field(default_factory=dict)
    _missed: dict[str, str] = field(default_factory=dict)
    _own: dict[str, Counter[str]] = field(default_factory=dict)
    _latest: dict[str, float] = field(default_factory=dict)

    def take(self, answers: Iterable[Answer]) -> None:
        """Record a round of scrapes."""
        now = time.monotonic()
        self.rounds += 1
        merged: dict[str, float] = {}
        for answer in sorted(answers, key=lambda one: one.received):
            self._note(answer.process, answer.own)
            if answer.was_suspended:
                self.suspended += 1
                self.suspended_counters += len(answer.counters)
            for series, value in answer.counters.items():
                history = self._histories.setdefault(series, _History())
                if value < (before := history.before(answer.earliest)):
                    self.falls.append(f"{answer.process}: {series} {value} after {before}")
                history.add(value, answer.received)
                merged[series] = max(value, merged.get(series, 0.0))
        for series in self._seen.keys() - merged.keys():
            self._missed.setdefault(series, self.event)
        for series in merged:
            if (event := self._missed.pop(series, None)) is not None:
                self.longest_gaps[event] = max(self.longest_gaps.get(event, 0.0), now - self._seen[series])
            self._seen[series] = now
        self._latest = merged

    def _note(self, process: str, own: Mapping[str, float]) -> None:
        # Of each process the last values that it served; they only rise.
        self._own[process] = Counter(
            {
                "refused": int(own.get(_REFUSED, 0)),
                "losses": int(sum(value for series, value in own.items() if series.startswith(_LOSSES))),
            }
        )

    def total(self, what: str) -> int:
        """Return the number of `refused` rows, or of `losses` of a shard, of all processes."""
        return sum(own[what] for own in self._own.values())

    def differences(self, expected: Mapping[str, float]) -> list[str]:
        """Return how the last round differs from the samples of another exporter."""
        return [
            f"{series}: {self._latest.get(series)} and not {expected.get(series)}"
            for series in sorted(expected.keys() | self._latest.keys())
            if expected.get(series) != self._latest.get(series)
        ]
