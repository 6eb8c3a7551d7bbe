"""Logs failures of targets, once at their beginning and once at their end; if they are many, only their number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.log import logger

# For each account and reason, this many targets are named in a window; the others are only counted.
MOST_NAMED = 20
WINDOW_SECONDS = 60.0


@dataclass(slots=True)
class _Window:
    ends: float
    named: int = 0
    counted: int = 0


class FailureLog:
    """Logs the beginnings and ends of failures.

    If a platform is down, this takes only a few lines, however many targets it has.

    Args:
        monotonic: a clock in seconds.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._log = logger()
        self._windows: dict[tuple[bool, str, str], _Window] = {}
        self._lost: set[tuple[str, str]] = set()

    def fails(self, facts: Mapping[str, str], reason: str, error: str) -> None:
        """Log that a target begins to fail; `facts` are collector, account, target and name, `reason` is one word."""
        if self._is_named(fails=True, account=facts["account"], reason=reason):
            self._log.warning("target fails", **facts, reason=reason, error=error)

    def recovers(self, facts: Mapping[str, str]) -> None:
        """Log that a poll of a failing target has succeeded."""
        if self._is_named(fails=False, account=facts["account"], reason=""):
            self._log.info("target recovered", **facts)

    def lists(self, collector: str, account: str, failure: tuple[str, str] | None) -> None:
        """Log the failure of a list for an account that another shard owns: no series of this shard shows it.

        `failure` is the reason as one word, and the message; None for a success.
        """
        mark = (collector, account)
        if failure is None:
            self._lost.discard(mark)
        elif mark not in self._lost:
            self._lost.add(mark)
            facts = {"collector": collector, "account": account, "reason": failure[0], "error": failure[1]}
            self._log.warning("list of an account fails", **facts)

    def _is_named(self, *, fails: bool, account: str, reason: str) -> bool:
        now = self._monotonic()
        window = self._windows.get((fails, account, reason))
        if window is None or window.ends <= now:
            self.sum_up()
            window = self._windows[fails, account, reason] = _Window(now + WINDOW_SECONDS)
        if window.named < MOST_NAMED:
            window.named += 1
            return True
        window.counted += 1
        return False

    def sum_up(self, *, end: bool = False) -> None:
        """Log the number of targets that were not named in the windows that have ended; with `end`, in all windows."""
        now = self._monotonic()
        for key in [key for key, window in self._windows.items() if end or window.ends <= now]:
            (fails, account, reason), window = key, self._windows.pop(key)
            if window.counted and fails:
                self._log.warning("more targets fail", account=account, reason=reason, targets=window.counted)
            elif window.counted:
                self._log.info("more targets recovered", account=account, targets=window.counted)
