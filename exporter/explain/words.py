"""Formats evidence: moments and failures."""

from datetime import UTC, datetime

from exporter.causes import Cause
from exporter.exposition.status_board import Failure, Status


def moment(seconds: float) -> str:
    """Write a moment for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def failure_words(status: Status) -> str:
    """Describe the failure of a target: its beginning, reason and message, and the last success."""
    failure = status.failure
    if failure is None:
        return ""
    said = ": ".join(part for part in (status.reason, status.message) if part)
    parts = [f"since {moment(failure.since)}", said or "no poll has succeeded in time"]
    if failure.expired:
        parts.append(f"series withdrawn at {moment(failure.expired)}")
    parts.append(f"last success {moment(status.success)}" if status.success else "no success yet")
    return "; ".join(parts)


def cause_of_failure(status: Status, failure: Failure, accepted: float) -> tuple[Cause, str]:
    """Return the cause of a target's failure, and its evidence.

    Args:
        status: the status of the target.
        failure: its failure.
        accepted: unix seconds of the account's last answer to a call with an accepted key.
    """
    words = failure_words(status)
    if failure.cause is Cause.KEY_REFUSED and accepted >= failure.since:
        # The platform has accepted the same key for other calls since this failure began.
        return Cause.KEY_FORBIDDEN, f"{words}; the key is accepted for other calls"
    return failure.cause, words
