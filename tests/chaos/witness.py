"""Merges what all replicas serve, as a Prometheus would that scrapes them all, and notes what must not be."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_REFUSED = "edge_exporter_ledger_refused_rows_total"
_LOSSES = "edge_exporter_shard_losses_total{"


@dataclass
class Witness:
    """What was served so far.

    Attributes:
        values: series → the highest value that was served in a round that has ended.
        falls: what was served although a higher value had been served before.
        longest_gap: the longest time, in seconds, in which no replica served a series that had been served.
        refused: writes that the fence refused, of all processes.
        losses: shards that were claimed by another replica while a process held them.
        rounds: how many rounds there were.
    """

    values: dict[str, float] = field(default_factory=dict)
    falls: list[str] = field(default_factory=list)
    longest_gap: float = 0.0
    rounds: int = 0
    _seen: dict[str, float] = field(default_factory=dict)
    _own: dict[str, Counter[str]] = field(default_factory=dict)
    _latest: dict[str, float] = field(default_factory=dict)

    def take(self, answers: Iterable[tuple[str, Mapping[str, float], Mapping[str, float]]]) -> None:
        """Take in a round of scrapes.

        Args:
            answers: the name of a process, the counters that it served, and the program's own samples.
        """
        now = time.monotonic()
        self.rounds += 1
        merged: dict[str, float] = {}
        for process, counters, own in answers:
            self._note(process, own)
            for series, value in counters.items():
                if value < self.values.get(series, 0.0):
                    self.falls.append(f"{process}: {series} {value} after {self.values[series]}")
                merged[series] = max(value, merged.get(series, 0.0))
        for series in merged:
            self.longest_gap = max(self.longest_gap, now - self._seen.get(series, now))
            self._seen[series] = now
        self._latest = merged
        for series, value in merged.items():
            self.values[series] = max(value, self.values.get(series, 0.0))

    def _note(self, process: str, own: Mapping[str, float]) -> None:
        # Of each process the last values that it served; they only rise.
        self._own[process] = Counter(
            {
                "refused": int(own.get(_REFUSED, 0)),
                "losses": int(sum(value for series, value in own.items() if series.startswith(_LOSSES))),
            }
        )

    def total(self, what: str) -> int:
        """How many rows were `refused`, or how many `losses` of a shard there were, of all processes."""
        return sum(own[what] for own in self._own.values())

    def differences(self, expected: Mapping[str, float]) -> list[str]:
        """How the last round differs from what another exporter serves."""
        return [
            f"{series}: {self._latest.get(series)} and not {expected.get(series)}"
            for series in sorted(expected.keys() | self._latest.keys())
            if expected.get(series) != self._latest.get(series)
        ]
