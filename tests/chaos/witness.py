"""Merges the samples of all replicas, like a Prometheus that scrapes them all, and records forbidden changes."""

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# What replicas count: rows that the database refused, and shards that others claimed while one held them.
REFUSED, LOSSES = "edge_exporter_ledger_refused_rows_total", "edge_exporter_shard_losses_total{"

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
class Witness:
    """The samples served so far.

    Attributes:
        falls: what was served although a higher value had come before it can have been made.
        event: what happens at the moment.
        gaps: event → how long no replica served a series that had been served, in seconds, for each time; by what
            happened when it was missed first.
        suspended: answers of processes that were suspended when they were asked.
        suspended_counters: counters in those answers.
        rounds: how many rounds there were.
        last: the last answer of each process.
    """

    falls: list[str] = field(default_factory=list)
    event: str = ""
    gaps: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    suspended: int = 0
    suspended_counters: int = 0
    rounds: int = 0
    last: dict[str, Answer] = field(default_factory=dict)
    # Series → its values, each higher than the one before, with the times of their receipt.
    _histories: defaultdict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    _seen: dict[str, float] = field(default_factory=dict)
    _missed: dict[str, str] = field(default_factory=dict)
    _latest: Samples = field(default_factory=dict)

    def take(self, answers: Iterable[Answer]) -> None:
        """Record a round of scrapes."""
        now = time.monotonic()
        self.rounds += 1
        merged: Samples = {}
        for answer in sorted(answers, key=lambda one: one.received):
            self.last[answer.process] = answer
            if answer.was_suspended:
                self.suspended += 1
                self.suspended_counters += len(answer.counters)
            for series, value in answer.counters.items():
                history = self._histories[series]
                place = bisect_right(history, (answer.earliest, float("inf")))
                if place and value < history[place - 1][1]:
                    self.falls.append(f"{answer.process}: {series} {value} after {history[place - 1][1]}")
                if not history or value > history[-1][1]:
                    history.append((answer.received, value))
                merged[series] = max(value, merged.get(series, 0.0))
        for series in self._seen.keys() - merged.keys():
            self._missed.setdefault(series, self.event)
        for series in merged:
            if (event := self._missed.pop(series, None)) is not None:
                self.gaps[event].append(now - self._seen[series])
            self._seen[series] = now
        self._latest = merged

    def total(self, family: str) -> int:
        """Return the sum of an own family of all processes."""
        owns = (answer.own for answer in self.last.values())
        return sum(int(value) for own in owns for series, value in own.items() if series.startswith(family))

    def differences(self, expected: Mapping[str, float]) -> list[str]:
        """Return how the last round differs from the samples of another exporter."""
        return [
            f"{series}: {self._latest.get(series)} and not {expected.get(series)}"
            for series in sorted(expected.keys() | self._latest.keys())
            if expected.get(series) != self._latest.get(series)
        ]
