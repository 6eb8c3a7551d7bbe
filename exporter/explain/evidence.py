"""Finds and formats evidence: moments, failures, and the source fields of families."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from exporter.collectors.causes import Cause
from exporter.exposition.store import PollFailure, Status

_PARENTHESES = re.compile(r"\(([^()]*)\)")
# A field within the parentheses, alone or as in `(Type of all search results)`.
_FIELD = re.compile(r"\s*([A-Za-z]\w*(?:\.\w+)*)(?:\s+of\s.*|\s*)")
# Names of fields have a capital letter inside, such as `wafEnabled` or `MonthlyCost`.
_INNER_CAPITAL = re.compile(r"\b\w*[a-z][A-Z][a-z]\w*\b")


def moment(seconds: float) -> str:
    """Return a time in UTC, for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def cause_of_failure(status: Status, failure: PollFailure, accepted: float) -> tuple[Cause, str]:
    """Return the cause of a target's failure, and its evidence: its beginning, reason and message, the last success.

    `accepted` is when (unix seconds) the account's platform last answered a call with an accepted key.
    """
    said = ": ".join(part for part in (status.reason, status.message) if part)
    parts = [f"since {moment(failure.since)}", said or "no poll has succeeded in time"]
    if failure.expired:
        parts.append(f"series withdrawn at {moment(failure.expired)}")
    parts.append(f"last success {moment(status.success)}" if status.success else "no success yet")
    if failure.cause is Cause.KEY_REFUSED and accepted >= failure.since:
        # The platform has accepted the same key for other calls since this failure began.
        return Cause.KEY_FORBIDDEN, "; ".join([*parts, "the key is accepted for other calls"])
    return failure.cause, "; ".join(parts)


@lru_cache(maxsize=1024)
def source_fields(help_text: str) -> tuple[str, ...]:
    """Return the source fields that a help text names: `(MonthlyCost)`, or `counted from MonthlyCost`.

    Returns:
        The names in the interface, with dots for fields of an object; empty if the text names none.
    """
    inside = ",".join(_PARENTHESES.findall(help_text))
    named = [found[1] for part in re.split("[,;]", inside) if (found := _FIELD.fullmatch(part))]
    outside = _INNER_CAPITAL.findall(_PARENTHESES.sub("", help_text))
    return tuple(dict.fromkeys((*named, *outside)))
