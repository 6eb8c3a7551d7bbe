"""Whether the exporter is healthy, and whether it is ready."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.counters.ledger import Ledger
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import Store
from exporter.metric import label_value
from exporter.polling.schedule import Schedule
from exporter.targets.registry import Registry
from exporter.web.parts import Process

SLOWEST_TICK = 30.0
MOST_REFUSALS = 3


@dataclass(slots=True)
class Readiness:
    """Says which part has stalled, and what the first readiness waits for."""

    process: Callable[[], Process]
    store: Store
    registry: Registry
    schedule: Schedule
    ledger: Ledger
    renderer: Renderer
    clocks: Clocks
    _was_ready: bool = False

    def ailment(self) -> str:
        """Return which part has stalled; empty if none. The event loop runs, or there would be no answer."""
        if self.clocks.monotonic() - self.schedule.last_tick >= SLOWEST_TICK:
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
        process = self.process()
        if self.registry.shard.index is None and process.unproven:
            return self._refusal(process.account_up) or process.unproven
        if not self.schedule.all_discovered([name for name, is_up in process.account_up.items() if not is_up]):
            return self._refusal(process.account_up) or "discovery has not ended"
        if not process.is_authenticated:
            return self._refusal(process.account_up) or "no authenticated answer has come"
        if reason := self.ledger.withholds():
            return f"no counter is served: {reason}"
        self._was_ready = True
        return ""

    def _refusal(self, known: Collection[str]) -> str:
        """Return the credentials that are refused, or could not be read or sent, in words; empty if none."""
        accounts = self.schedule.accounts
        refused = [
            name for name in (known or accounts) if name in accounts and accounts[name].client.credential.is_refused()
        ]
        words = []
        for name in refused[:MOST_REFUSALS]:
            statuses = (status for _, status in self.store.statuses() if status.target.client_name == name)
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
