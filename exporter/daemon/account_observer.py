"""Counts the calls of an account, and reports whether the account answers."""

from collections.abc import Callable

from exporter.platform.http.client import Observer
from exporter.telemetry import Telemetry

# Tolerance for a late poll: a part of its interval, and the time between two ticks of the scheduler.
UP_SLACK = 1.5
UP_UNEVENNESS = 1.0


class AccountObserver(Observer):
    """Counts the calls of one account.

    Args:
        telemetry: the metrics in which they are counted.
        account: the account's name.
        clock: a monotonic clock in seconds.

    Attributes:
        authenticated: the time of the last authenticated answer, on that clock; None if there was none.
        failed: the time of the last refused or unanswered call, on that clock; None if there was none.
    """

    def __init__(self, telemetry: Telemetry, account: str, clock: Callable[[], float]) -> None:
        self._telemetry = telemetry
        self._account = account
        self._clock = clock
        self.authenticated: float | None = None
        self.failed: float | None = None

    def is_up(self, interval: float, timeout: float) -> bool:
        """Return whether an authenticated answer came within an interval.

        Args:
            interval: seconds between two polls.
            timeout: seconds that an answer may take.
        """
        if self.authenticated is None:
            return False
        # A slow answer may take its timeout; after a refused or lost call, only the tolerance for a late poll is added.
        is_failing = self.failed is not None and self.failed > self.authenticated
        patience = min(timeout, interval + UP_UNEVENNESS) if is_failing else timeout
        return self._clock() - self.authenticated <= interval * UP_SLACK + patience

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Count an attempt of a call, its duration and, if it failed, its reason."""
        self._telemetry.requests.labels(self._account, operation, code).inc()
        self._telemetry.durations.labels(self._account, operation).observe(seconds)
        if reason is not None:
            self._telemetry.failures.labels(self._account, operation, reason).inc()
            # A fault of one resource does not mean that the account is down.
            if not code.startswith(("2", "404")):
                self.failed = self._clock()
        elif code.startswith("2"):
            self.authenticated = self._clock()

    def retried(self, operation: str) -> None:
        """Count a retry of a call."""
        self._telemetry.retries.labels(self._account, operation).inc()

    def unexpected(self, operation: str, field: str) -> None:
        """Count an unknown value of a field."""
        self._telemetry.unexpected.labels(self._account, operation, field).inc()

    def throttled(self, seconds: float) -> None:
        """Count the seconds that calls waited for the account's budget."""
        self._telemetry.throttled.labels(self._account).inc(seconds)
