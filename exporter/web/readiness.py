"""Whether the exporter is healthy, and whether it is ready."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.counters.ledger import Ledger
from exporter.exposition.renderer import Renderer
from exporter.metric import label_value
from exporter.web.parts import Polling, Process

SLOWEST_TICK = 30.0
MOST_REFUSALS = 3


@dataclass(slots=True)
class Readiness:
    """Says which part has stalled, and what the first readiness waits for."""

    process: Callable[[], Process]
    polling: Polling
    ledger: Ledger
    renderer: Renderer
    clocks: Clocks
    _was_ready: bool = False

    def ailment(self) -> str:
        """Return which part has stalled; empty if none. The event loop runs, or there would be no answer."""
        if self.clocks.monotonic() - self.polling.schedule.last_tick >= SLOWEST_TICK:
            return "the scheduler has stalled"
        if not self.ledger.is_alive():
            return "the ledger has stalled"
        return "" if self.renderer.is_alive() else "the exposition has stalled"

    def waits_for(self) -> str:
        """Return what readiness waits for; empty for good once it waits for nothing.

        Discovery must have ended, a call been authenticated, and the first counts been saved, without which no counter
        is served.
        A spare polls nothing: it is ready as soon as it could take a shard.
        """
        if self._was_ready:
            return ""
        if self.polling.registry.shard.index is None and (unproven := self.process().unproven):
            return self._refusal() or unproven
        silent = [name for name, is_up in self.polling.accounts.up().items() if not is_up]
        if not self.polling.schedule.all_discovered(silent):
            return self._refusal() or "discovery has not ended"
        if not self.polling.accounts.is_authenticated():
            return self._refusal() or "no authenticated answer has come"
        if reason := self.ledger.withholds():
            return f"no counter is served: {reason}"
        self._was_ready = True
        return ""

    def _refusal(self) -> str:
        """Return the credentials that are refused, or could not be read or sent, in words; empty if none."""
        accounts, known = self.polling.schedule.accounts, self.polling.accounts.up()
        refused = [
            name for name in (known or accounts) if name in accounts and accounts[name].client.credential.is_refused()
        ]
        words = []
        for name in refused[:MOST_REFUSALS]:
            statuses = (status for _, status in self.polling.store.statuses() if status.target.client_name == name)
            reasons = (status.reason for status in statuses)
            reason = next((reason for reason in reasons if reason in ("unauthorized", "credential")), "unauthorized")
            why = "is not accepted" if reason == "unauthorized" else "cannot be used"
            words.append(f"the {credential_of(label_value(name))} {why}")
        if len(refused) > MOST_REFUSALS:
            words.append(f"{len(refused) - MOST_REFUSALS} more are refused")
        return ", ".join(words)


def credential_of(account: str) -> str:
    """Name the credential of an account or a database, on one line."""
    kind, _, name = " ".join(account.split()).partition(":")
    return f"token of database {name}" if kind == "database" and name else f"key of account {' '.join(account.split())}"
