"""What the client reports of its calls, and to whom."""

from typing import Protocol


class Observer(Protocol):
    """Receives what happened to the calls of one account; every method returns at once and never fails."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """An attempt ended.

        Args:
            operation: its name, such as `dns_statistics`.
            code: the HTTP status, or `none` where none came.
            seconds: how long it took.
            reason: why there is no usable answer, in a word of `exporter.platform.errors`; None where there is one.
        """

    def retried(self, operation: str) -> None:
        """Another attempt of the same call begins."""

    def unexpected(self, operation: str, field: str) -> None:
        """A good answer held a value that is not known for this field."""

    def throttled(self, seconds: float) -> None:
        """A call waited this long for the account's budget."""


class Deaf:
    """For commands, which tell people what came of a call and count nothing."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Ignore an attempt."""

    def retried(self, operation: str) -> None:
        """Ignore a retry."""

    def unexpected(self, operation: str, field: str) -> None:
        """Ignore an unknown value."""

    def throttled(self, seconds: float) -> None:
        """Ignore a wait."""
