"""When a failed poll is repeated: minutes later instead of an interval later, within the account's budget."""

from collections.abc import Collection

from exporter.polling.intervals import Intervals
from exporter.targets.target import PollKey, Target, account_of

# The first repeat comes after so many seconds, each further one after twice the time of the one before.
FIRST_WAIT = 60.0
MOST_DOUBLINGS = 20


class Backoff:
    """Decides when targets whose polls failed are polled again.

    Repeats use what the regular polls leave of an account's capacity. While many targets fail, repeats are spread so
    that they take no more than that, and those that would come after the regular poll are not made.

    Args:
        intervals: how much an account's polls leave of its capacity.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        # How often in a row the polls of a target by a collector have failed.
        self._failures: dict[PollKey, int] = {}
        # Account → the moment until which repeats have taken up its spare capacity.
        self._booked: dict[str, float] = {}

    def failed(self, collector: str, target: Target, now: float, due: float) -> float:
        """When a target is polled next after a failure.

        Args:
            collector: the collector whose poll failed.
            target: the polled target.
            now: the moment, on the monotonic clock.
            due: when the target's regular poll comes, on the same clock.

        Returns:
            The moment of the repeat, or `due` where that is earlier.
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
        """End a target's row of failures."""
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
