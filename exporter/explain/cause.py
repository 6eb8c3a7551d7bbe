"""Defines the four causes of an absence, and the words for them."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """Why a target has no series of a family that it could have; the value is the `cause` label."""

    NOT_ASKED_FOR = "not_asked_for"
    NOT_POLLED_YET = "not_polled_yet"
    FAILING = "failing"
    PLATFORM_HAS_NONE = "platform_has_none"

    @property
    def words(self) -> str:
        """The cause as people read it."""
        return "the platform has none" if self is Cause.PLATFORM_HAS_NONE else self.value.replace("_", " ")


class Finding(NamedTuple):
    """Why families are absent.

    Attributes:
        reason: the place in the configuration, or the kind of failure; empty if the cause says all.
        detail: the message of the target's last poll.
        since: since when polls fail, in unix seconds; 0 if they do not.
    """

    cause: Cause
    reason: str = ""
    detail: str = ""
    since: float = 0.0

    @property
    def text(self) -> str:
        """Cause, time, reason and detail, as a sentence without a full stop."""
        head = f"{self.cause.words} since {moment(self.since)}" if self.since else self.cause.words
        return ": ".join(part for part in (head, self.reason, self.detail) if part)


def moment(seconds: float) -> str:
    """Return a time in UTC, for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
