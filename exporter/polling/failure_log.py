"""Logs when failures of targets and lists begin and end; of many targets, some are named and the others counted."""

from collections import Counter
from collections.abc import Mapping

from exporter.log import logger
from exporter.platform.errors import PlatformError

# Between two calls of `sum_up`, at most this many failing targets of an account are named for each reason, and at most
# this many recovered ones. Further targets are counted.
MOST_NAMED = 20


class FailureLog:
    """Logs the beginnings and ends of failures, in few lines even if a platform with many targets is down."""

    def __init__(self) -> None:
        self._log = logger()
        # (is it a failure, account, reason) → how many failures began, or ended, since the last `sum_up`.
        self._counts: Counter[tuple[bool, str, str]] = Counter()
        # The lists that fail, as collector and account.
        self._failing_lists: set[tuple[str, str]] = set()

    def fails(self, facts: Mapping[str, str], reason: str, error: str) -> None:
        """Log or count that a target begins to fail; `facts` has the keys collector, account, target and name."""
        kind = (True, facts["account"], reason)
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_NAMED:
            self._log.warning("target fails", **facts, reason=reason, error=error)

    def recovers(self, facts: Mapping[str, str]) -> None:
        """Log or count that a poll has succeeded after failures."""
        kind = (False, facts["account"], "")
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_NAMED:
            self._log.info("target recovered", **facts)

    def note_list(self, collector: str, account: str, error: PlatformError | None) -> None:
        """Log when a list begins to fail, and when it succeeds again; `error` is None after a success."""
        mark, facts = (collector, account), {"collector": collector, "account": account}
        if error is not None and mark not in self._failing_lists:
            self._failing_lists.add(mark)
            self._log.warning("list of an account fails", **facts, reason=error.reason, error=str(error))
        elif error is None and mark in self._failing_lists:
            self._failing_lists.discard(mark)
            self._log.info("list of an account recovered", **facts)

    def sum_up(self) -> None:
        """Log how many targets were counted and not named since the last call; then count from 0."""
        for (is_failure, account, reason), number in self._counts.items():
            unnamed = number - MOST_NAMED
            if unnamed > 0 and is_failure:
                self._log.warning("more targets fail", account=account, reason=reason, targets=unnamed)
            elif unnamed > 0:
                self._log.info("more targets recovered", account=account, targets=unnamed)
        self._counts.clear()
