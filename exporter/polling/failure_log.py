"""Logs failures of targets, once at their beginning and once at their end; if they are many, only their number."""

from collections import Counter
from collections.abc import Mapping

from exporter.log import logger
from exporter.platform.errors import PlatformError

# For each account and reason, this many targets are named between two sums; the others are only counted.
MOST_NAMED = 20


class FailureLog:
    """Logs the beginnings and ends of failures.

    If a platform is down, this takes only a few lines, however many targets it has.
    """

    def __init__(self) -> None:
        self._log = logger()
        # Whether it is a failure, its account and its reason → how many since the last sum.
        self._counts: Counter[tuple[bool, str, str]] = Counter()
        self._lost: set[tuple[str, str]] = set()

    def fails(self, facts: Mapping[str, str], reason: str, error: str) -> None:
        """Log that a target begins to fail; `facts` are collector, account, target and name, `reason` is one word."""
        kind = (True, facts["account"], reason)
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_NAMED:
            self._log.warning("target fails", **facts, reason=reason, error=error)

    def recovers(self, facts: Mapping[str, str]) -> None:
        """Log that a poll of a failing target has succeeded."""
        kind = (False, facts["account"], "")
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_NAMED:
            self._log.info("target recovered", **facts)

    def note_list(self, collector: str, account: str, error: PlatformError | None) -> None:
        """Log once that a list fails for an account that another shard owns: no series of this shard shows it.

        `error` is None for a list that succeeds, which ends the failure.
        """
        mark = (collector, account)
        if error is None:
            self._lost.discard(mark)
        elif mark not in self._lost:
            self._lost.add(mark)
            facts = {"collector": collector, "account": account, "reason": error.reason, "error": str(error)}
            self._log.warning("list of an account fails", **facts)

    def sum_up(self) -> None:
        """Log the numbers of targets that were not named since the last sum; call it once a minute."""
        for (fails, account, reason), number in self._counts.items():
            if number > MOST_NAMED and fails:
                self._log.warning("more targets fail", account=account, reason=reason, targets=number - MOST_NAMED)
            elif number > MOST_NAMED:
                self._log.info("more targets recovered", account=account, targets=number - MOST_NAMED)
        self._counts.clear()
