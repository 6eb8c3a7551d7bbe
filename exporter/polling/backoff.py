"""Decides when a failed poll is repeated: within minutes, and within the account's budget."""

from collections.abc import Collection

from exporter.polling.intervals import Intervals
from exporter.targets.target import PollKey, Target, account_of

# The seconds before the first repeat; each further repeat waits twice as long as the one before.
FIRST_WAIT = 60.0
MOST_DOUBLINGS = 20


class Backoff:
    """Decides when targets whose polls failed are polled again.

    Repeats use the capacity of an account that the regular polls leave. If many targets fail, repeats are spread to fit
    into it, and a repeat that would come after the regular poll is not made.

    Args:
        intervals: gives the capacity that an account's polls leave.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        # How often in a row the polls of a target by a collector have failed.
        self._failures: dict[PollKey, int] = {}
        # Account → the time until which repeats use its spare capacity.
        self._booked: dict[str, float] = {}

    def failed(self, collector: str, target: Target, now: float, due: float) -> float:
        """Return when a target is polled next after a failure.

        Args:
            collector: the collector whose poll failed.
            target: the polled target.
            now: the present, on the monotonic clock.
            due: the time of the target's regular poll, on the same clock.

        Returns:
            The time of the repeat, or `due` if that is earlier.
        """
        key, account = target.polled_by(collector), account_of(target)
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        free = max(now, self._booked.get(account, now))
        repeat = free + FIRST_WAIT * 2.0 ** min(failures, MOST_DOUBLINGS)
        if repeat >= due:
            return due
        self._booked[account] = free + self._intervals.spare_seconds(account, collector)
        return repeat

    def succeeded(self, collector: str, target: Target) -> None:
        """Reset the count of a target's successive failures."""
        self._failures.pop(target.polled_by(collector), None)

    def forget_others(self, collector: str, targets: Collection[Target]) -> None:
        """Forget the failures of targets that a collector no longer polls.

        Args:
            collector: the collector.
            targets: those that it polls.
        """
        known = {target.key for target in targets}
        gone = [key for key in self._failures if key.collector == collector and key.target not in known]
        for key in gone:
            del self._failures[key]
