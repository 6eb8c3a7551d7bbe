"""The causes of an absence: why a family of a target has no series: their meanings, and what to do.

`edge-exporter explain`, `/api/v1/explain`, the status page, `check` and `edge_exporter_absent_families` use these
words. A cause's value is the `cause` label; values are added and never removed. If several causes apply,
`exporter.explain.explainer` decides which one is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from exporter.platform.errors import CredentialError, Forbidden, NotAvailable, OutOfRange, PlatformError, Unauthorized


class Cause(StrEnum):
    """A cause of an absence; if several apply, the first of this list is reported."""

    COLLECTOR_DISABLED = "collector_disabled"
    DENIED = "denied"
    NOT_ALLOWED = "not_allowed"
    OTHER_SHARD = "other_shard"
    FILTERED = "filtered"
    NOT_CONFIGURED = "not_configured"
    NOT_DISCOVERED = "not_discovered"
    KEY_REFUSED = "key_refused"
    KEY_FORBIDDEN = "key_forbidden"
    DISCOVERY_INCOMPLETE = "discovery_incomplete"
    LEDGER = "ledger"
    FIRST_POLL = "first_poll"
    OUT_OF_RANGE = "out_of_range"
    STALE = "stale"
    FAILING = "failing"
    NOT_AVAILABLE = "not_available"
    NEVER_SCANNED = "never_scanned"
    NO_ROW = "no_row"
    NO_VALUE = "no_value"
    CAPPED = "capped"

    @property
    def text(self) -> str:
        """Its meaning, as a sentence without a full stop."""
        return _MEANINGS[self][0]

    @property
    def advice(self) -> str:
        """What to do."""
        return _MEANINGS[self][1]


_MEANINGS: Mapping[Cause, tuple[str, str]] = {
    Cause.COLLECTOR_DISABLED: (
        "the collector is disabled",
        "Set `enabled: true` in the collector's section and reload.",
    ),
    Cause.DENIED: ("a pattern of series.deny excludes the family", "Remove or narrow the pattern and reload."),
    Cause.NOT_ALLOWED: (
        "series.allow is set, and none of its patterns matches the family's whole name",
        "Add the family to series.allow, or remove series.allow, and reload.",
    ),
    Cause.OTHER_SHARD: (
        "the target belongs to another shard",
        "Look at the exporter that has that shard; this one does not poll it.",
    ),
    Cause.FILTERED: (
        "an include or exclude pattern leaves the target out",
        "Compare the pattern with the name: correct it, or list the target's id under `ids`, and reload.",
    ),
    Cause.NOT_CONFIGURED: (
        "the configuration does not select it",
        "Name the target in the configuration, or switch its discovery on.",
    ),
    Cause.NOT_DISCOVERED: (
        "the platform's complete list does not hold the target",
        "See whether the id and the account are right; a new resource is found with the next discovery.",
    ),
    Cause.KEY_REFUSED: (
        "the platform does not accept the key or token, or it cannot be used",
        "Put a valid key where the configuration says; a changed key file is read without a reload.",
    ),
    Cause.KEY_FORBIDDEN: (
        "the key or token may not read this",
        "Give the key the right to read it, or disable the collector.",
    ),
    Cause.DISCOVERY_INCOMPLETE: (
        "discovery has not ended with a complete list yet",
        "Wait for the next discovery; if it fails, correct what the evidence names.",
    ),
    Cause.LEDGER: (
        "the counter is not saved yet, and is not served before",
        "Check whether the disk of state.path is full or read-only; then no further step is needed.",
    ),
    Cause.FIRST_POLL: ("the target has not been polled yet", "Wait until the named time."),
    Cause.OUT_OF_RANGE: (
        "the platform sent a value that is out of range or unknown",
        "Read the answer with `edge-exporter call`, and report the field to the platform or to this project.",
    ),
    Cause.STALE: (
        "polls have failed for so long that the last values were removed",
        "Correct what the evidence names; series come back with the first good poll.",
    ),
    Cause.FAILING: ("polls of the target fail", "Correct what the evidence names; the exporter tries again by itself."),
    Cause.NOT_AVAILABLE: (
        "the platform says that the zone's plan does not include it, or that it was never set up",
        "Change the plan or set it up on the platform, or disable the collector.",
    ),
    Cause.NEVER_SCANNED: ("the zone's records were never scanned", "Start a record scan of the zone on the platform."),
    Cause.NO_ROW: ("the query returned no row", "Run the query on the database and compare."),
    Cause.NO_VALUE: (
        "the platform sent no value: null, empty or left out",
        "Usually nothing: the resource has no such value. `edge-exporter call` shows the whole answer.",
    ),
    Cause.CAPPED: (
        "the family has as many series as series.max_per_family allows",
        "Raise series.max_per_family, or poll fewer targets, and reload.",
    ),
}


@dataclass(frozen=True, slots=True)
class Lack:
    """Explains why a good answer gave a target no samples of some families.

    Attributes:
        cause: NO_VALUE where the answer held no value for them.
        words: the evidence; empty if naming the families' source fields is enough.
        unexpected: wire names of fields whose value is unknown or cannot be read. The cause of families with such a
            source field is OUT_OF_RANGE.
    """

    cause: Cause = Cause.NO_VALUE
    words: str = ""
    unexpected: frozenset[str] = frozenset()


# The usual case: the source field was null or missing.
NO_VALUES = Lack()


def cause_of(error: PlatformError) -> Cause:
    """Return the cause for the reason of a failed poll."""
    match error:
        case NotAvailable():
            return Cause.NOT_AVAILABLE
        case Unauthorized() | CredentialError():
            return Cause.KEY_REFUSED
        case Forbidden():
            return Cause.KEY_FORBIDDEN
        case OutOfRange():
            return Cause.OUT_OF_RANGE
        case _:
            return Cause.FAILING
