"""Polls and serves the shards that this process holds, as exporters hand them over to each other."""

from collections.abc import Callable, Iterable, Mapping

from exporter.clock import Clocks
from exporter.cooperative import in_slices
from exporter.counters.ledger import Ledger
from exporter.counters.storage import Stored
from exporter.daemon.accounts import Accounts
from exporter.daemon.shard_changes import HeldShards
from exporter.exposition.renderer import Renderer
from exporter.polling.scheduler import Schedule
from exporter.polling.script_budgets import BUDGET_ROWS, BudgetMetrics
from exporter.targets.registry import Change, Registry
from exporter.targets.sharding import Share
from exporter.targets.target import PollKey, TargetKey
from exporter.telemetry import Telemetry


class Shards:
    """Changes what is polled and served when this process holds other shards than before.

    Args:
        registry: the targets that are polled.
        renderer: serves no counters of other shards.
        schedule: returns the schedule in force.
        ledger: leaves the rows of other shards to these.
        accounts: one shard reports whether an account is up.
        budgets: the budgets of scripts.
        telemetry: where the shards are shown.
        rendered: called when what is served holds counters of these shards alone.
        changed: called when the targets have changed.
        clocks: the clocks.
    """

    def __init__(
        self,
        registry: Registry,
        renderer: Renderer,
        schedule: Callable[[], Schedule],
        *,
        ledger: Ledger,
        accounts: Accounts,
        budgets: BudgetMetrics,
        telemetry: Telemetry,
        rendered: Callable[[Mapping[int, int]], None],
        changed: Callable[[Change], None],
        clocks: Clocks,
    ) -> None:
        self._registry = registry
        self._renderer = renderer
        self._schedule = schedule
        self._ledger = ledger
        self._accounts = accounts
        self._budgets = budgets
        self._telemetry = telemetry
        self._rendered = rendered
        self._changed = changed
        self._clocks = clocks
        # The shards that are polled, with the epochs of their leases.
        self._epochs: Mapping[int, int] = {}
        # The accounts whose rate limits are remembered, and cannot be assigned to shards before they are listed.
        self._unsettled: set[tuple[str, str]] = set()

    def leave_strange(self) -> None:
        """Leave the rows of an earlier run that belong to another shard now, which counts from its own first poll."""
        rows = list(self._ledger.remembered())
        self._ledger.leave([key for key in rows if self._registry.is_strange(key.target)])
        if self._registry.share.total > 1:
            self._unsettled = {(key.target.account, key.target.kind) for key in rows if key.target.kind == "rate_limit"}

    def targets_changed(self, change: Change) -> None:
        """Leave the rate limits that turned out to be another shard's, once their shield zones are known."""
        settled = self._unsettled & change.settled
        if settled:
            self._unsettled -= settled
            rows = [key for key in list(self._ledger.remembered()) if (key.target.account, key.target.kind) in settled]
            self._ledger.leave([key for key in rows if not self._registry.holds(key.target)])

    async def hold(self, held: HeldShards) -> None:
        """Poll and serve the targets of these shards and no others."""
        before, self._epochs = self._epochs, held.epochs
        kept = {shard for shard, epoch in held.epochs.items() if before.get(shard) == epoch}
        # What was served of the others is removed first: another exporter may have counted them since.
        if kept != self._registry.share.held:
            await self._poll(kept)
            await self._renderer.render()
        self._rendered(held.epochs)
        self._registry.remember(names(held.rows))
        self._budgets.remember(held.rows)
        change = await self._poll(held.epochs)
        self.divide_budgets()
        self._accounts.shards_changed()
        self._telemetry.show_shards(self._registry.share.total, held.epochs)
        zones = {target.account for target in change.added if target.kind == "shield_zone"}
        # Which rate limits a new shield zone has is not known before the next discovery.
        await self._schedule().targets_changed(zones)

    async def _poll(self, shards: Iterable[int]) -> Change:
        share = Share(frozenset(shards), self._registry.share.total, may_change=True)
        change = await in_slices(self._registry.holding(share), self._clocks.monotonic)
        self._changed(change)
        return change

    def divide_budgets(self) -> None:
        """Use the part of the accounts' budgets that belongs to the shards that are held."""
        share = self._registry.share
        if share.may_change:
            self._schedule().resize(max(1, len(share.held)) / share.total)


def names(rows: Mapping[PollKey, Stored]) -> dict[TargetKey, str]:
    """Return the names of targets in rows of the ledger."""
    return {key.target: row.name for key, row in rows.items() if row.name and key.collector != BUDGET_ROWS}
