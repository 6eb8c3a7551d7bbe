"""The sentence about the exporter's state at the top of the status page."""

from typing import NamedTuple

from exporter.web.page.wording import count, plural
from exporter.web.status_models import StatusView


class Verdict(NamedTuple):
    """The sentence, and its kind: `ok`, `warn` or `bad`."""

    kind: str
    sentence: str


def verdict(status: StatusView) -> Verdict:
    """Choose the sentence about the worst part of the state."""
    counts = status.targets
    unwell = counts.failing + counts.stale
    if status.ailment:
        return Verdict("bad", f"Unhealthy: {status.ailment}.")
    if unwell:
        return Verdict("bad", f"{count(unwell)} of {plural(counts.total, 'target')} {_fail(unwell, counts.stale)}.")
    if status.waits_for or status.blocked:
        waits = f"Not ready: {status.waits_for}" if status.waits_for else f"Holds no shard and waits: {status.blocked}"
        return Verdict("warn", f"{waits}.")
    if counts.pending:
        verb = "waits" if counts.pending == 1 else "wait"
        pending = f"{count(counts.pending)} of {plural(counts.total, 'target')}"
        return Verdict("warn", f"{pending} {verb} for the first poll.")
    if not counts.total:
        return Verdict("warn", "There is nothing to poll.")
    all_targets = (
        "The one target answered its" if counts.total == 1 else f"All {count(counts.total)} targets answered their"
    )
    return Verdict("ok", f"{all_targets} last poll.")


def _fail(unwell: int, stale: int) -> str:
    """Return the end of the sentence: that targets fail, and how many of them are stale."""
    if unwell == 1:
        return "is stale" if stale else "fails"
    if not stale:
        return "fail"
    return f"fail, {count(stale) if stale < unwell else 'all'} of them stale"
