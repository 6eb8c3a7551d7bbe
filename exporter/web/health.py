"""Whether the exporter is healthy, and whether it is ready: the answers to probes, which are part of the status."""

from collections.abc import Collection

from exporter.web.parts import Parts, Process
from exporter.web.url_fields import Json

SLOWEST_TICK = 30.0
# Work that is repeated has stalled if no round has ended for this many times the time between two, or for this long.
STALLED_ROUNDS = 3
SHORTEST_STALL = 30.0


def health(parts: Parts) -> Json:
    """Return which part has stalled, and what the first readiness waits for; both are empty if none."""
    process = parts.process()
    ailment, waits_for = _ailment(parts, process), _waits_for(parts, process)
    return {
        "healthy": not ailment,
        "ailment": ailment,
        "ready": not waits_for,
        "waits_for": waits_for,
        "spare": process.spare,
        "rounds": {name: one.succeeded for name, one in process.rounds.items()},
    }


def credential_of(account: str) -> str:
    """Name the credential of an account or a database, on one line."""
    kind, _, name = " ".join(account.split()).partition(":")
    return f"token of database {name}" if kind == "database" and name else f"key of account {' '.join(account.split())}"


def _ailment(parts: Parts, process: Process) -> str:
    """Return which part has stalled; empty if none. The event loop runs, or there would be no answer."""
    if parts.clocks.monotonic() - parts.schedule.last_tick >= SLOWEST_TICK:
        return "the scheduler has stalled"
    if not parts.ledger.is_alive():
        return "the ledger has stalled"
    if not parts.renderer.is_alive():
        return "the exposition has stalled"
    now = parts.clocks.monotonic()
    for name, one in process.rounds.items():
        if now - one.ended >= max(STALLED_ROUNDS * one.seconds, SHORTEST_STALL):
            return f"the task {name} has stalled"
    return ""


def _waits_for(parts: Parts, process: Process) -> str:
    """Return what readiness waits for; empty if for nothing, or if the process was ready before.

    Discovery must have ended (a spare has none), a call must have been authenticated, and the first counts must have
    been saved: no counter is served before.
    """
    if process.was_ready.is_set():
        return ""
    missing = process.unproven if parts.schedule.all_discovered() else "discovery has not ended"
    if missing:
        return _refusal(parts, process.account_up) or missing
    reason = parts.ledger.why_no_counters()
    return f"no counter is served: {reason}" if reason else ""


def _refusal(parts: Parts, known: Collection[str]) -> str:
    """Return the credentials that are refused, or could not be read or sent, in words; empty if none."""
    accounts = parts.schedule.accounts
    refused = {name: accounts[name].client.credential for name in known or accounts if name in accounts}
    return ", ".join(
        f"the {credential_of(name)} {'is not accepted' if credential.refused else 'cannot be used'}"
        for name, credential in refused.items()
        if credential.is_refused()
    )
