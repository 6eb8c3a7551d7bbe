"""Callbacks of the client for each of its calls."""

from typing import Protocol


class Observer(Protocol):
    """Receives the events of one account's calls; every method returns at once and never fails."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Report that an attempt ended.

        Args:
            operation: the operation's name, such as `dns_statistics`.
            code: the HTTP status, or `none` without one.
            seconds: the duration.
            reason: why there is no usable answer, as a `reason` of `exporter.platform.errors`; None for a usable
                answer.
        """

    def retried(self, operation: str) -> None:
        """Report that another attempt of the same call begins."""

    def unexpected(self, operation: str, field: str) -> None:
        """Report an unknown value of this field in a good answer."""

    def throttled(self, seconds: float) -> None:
        """Report how many seconds a call waited for the account's budget."""


class Deaf:
    """Ignores all events; for commands, which print results and count nothing."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Ignore an attempt."""

    def retried(self, operation: str) -> None:
        """Ignore a retry."""

    def unexpected(self, operation: str, field: str) -> None:
        """Ignore an unknown value."""

    def throttled(self, seconds: float) -> None:
        """Ignore a wait."""
