"""Merges the samples of all replicas, like a Prometheus that scrapes them all, and records forbidden changes."""

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

Samples = dict[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a process.

    Attributes:
        process: its name.
        earliest: the monotonic time of the request, before which it cannot have been made. A process that was suspended
            while it sent an answer sends the rest when it goes on.
        received: the monotonic time at which it was received.
        counters: the counters of targets.
        own: the program's own samples.
    """

    process: str
    earliest: float
    received: float
    counters: Mapping[str, float]
    own: Mapping[str, float]


@dataclass
class Witness:
    """The samples served so far.

    Attributes:
        falls: what was served although a higher value had come before it can have been made.
        event: what happens at the moment.
        gaps: event → how long no replica served a series that had been served, in seconds, for each time; by what
            happened when it was missed first.
        longest: the longest gap, its event and its series.
        rounds: how many rounds there were.
        last: the last answer of each process.
    """

    falls: list[str] = field(default_factory=list)
    event: str = ""
    gaps: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    longest: tuple[float, str, str] = (0.0, "", "")
    rounds: int = 0
    last: dict[str, Answer] = field(default_factory=dict)
    # Series → its values, each higher than the one before, with the times of their receipt.
    _histories: defaultdict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    # Series → the answers that had it: the earliest time, that of the receipt, and the process.
    _served: defaultdict[str, list[tuple[float, float, str]]] = field(default_factory=lambda: defaultdict(list))
    _seen: dict[str, float] = field(default_factory=dict)
    _missed: dict[str, str] = field(default_factory=dict)

    def take(self, answers: Iterable[Answer]) -> None:
        """Record a round of scrapes."""
        now = time.monotonic()
        self.rounds += 1
        merged: Samples = {}
        for answer in sorted(answers, key=lambda one: one.received):
            self.last[answer.process] = answer
            for series, value in answer.counters.items():
                self._served[series].append((answer.earliest, answer.received, answer.process))
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
                self.longest = max(self.longest, (now - self._seen[series], event, series))
            self._seen[series] = now

    def doubles(self, patience: float) -> Iterator[str]:
        """Yield the series that two processes served at once: one of them before, and after, an answer of the other.

        Answers that are further apart than `patience` may be of two times that a process had the series.
        """
        for series, answers in self._served.items():
            for process in {name for _, _, name in answers}:
                own = sorted(one for one in answers if one[2] == process)
                others = sorted(one for one in answers if one[2] != process)
                begins = [earliest for earliest, _, _ in others]
                for (_, before, _), (after, _, _) in pairwise(own):
                    for earliest, received, name in others[bisect_right(begins, before) :]:
                        if earliest >= after or after - before > patience:
                            break
                        if received < after:
                            yield f"{series}: {name} at {earliest:.2f} to {received:.2f}, between answers of {process}"
