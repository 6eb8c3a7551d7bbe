"""Polls the targets of the settings in force and of the shards that this process holds."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.counters.rows import StateRow, unpack_places
from exporter.daemon.accounts import Accounts
from exporter.daemon.shards import Shards
from exporter.exposition.store import Store
from exporter.metric import Places
from exporter.platform.operation import spelt_alike
from exporter.polling.failure_log import FailureLog
from exporter.polling.poll import PollMemory
from exporter.polling.scheduler import Schedule
from exporter.polling.script_budgets import BUDGET_ROWS, ConfiguredBudgets, ScriptBudgets
from exporter.polling.timetable import Account, Plan
from exporter.settings.model import Settings
from exporter.targets.registry import Change
from exporter.targets.sharding import Share
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry
from exporter.wiring import from_settings


class Polling:
    """The targets, accounts, budgets and schedule, which reloads and changes of shards replace.

    Args:
        settings: the first settings.
        shards: the shards, whose state is open.
        parsing: parses long answers, as `Client` describes it.

    Attributes:
        store: the results of polls.
        accounts: the accounts and databases.
        budgets: the monthly budgets of scripts.
        schedule: polls the targets.

    Raises:
        OSError: a file of trusted certificates cannot be read.
    """

    def __init__(
        self, settings: Settings, shards: Shards, telemetry: Telemetry, clocks: Clocks, parsing: Executor | None
    ) -> None:
        self._shards = shards
        self._ledger = shards.ledger
        self._registry = shards.registry
        self._telemetry = telemetry
        self._clocks = clocks
        # The polled shards, with the epochs of their leases if they are shared by leases.
        self._epochs: Mapping[int, int] = {}
        self.store = Store(clocks.wall, clocks.monotonic, self._lifetime, self._remembered)
        self.accounts = Accounts(
            telemetry, self._ledger, self._registry, lambda: self.schedule.intervals, clocks, parsing
        )
        self.budgets = ScriptBudgets(telemetry, self._ledger, self._registry, clocks)
        self._retention = settings.state.retention
        # Accounts whose rate limits have been listed completely.
        self._with_rate_limits: set[str] = set()
        self._configure(settings)
        shards.begin()
        self.schedule = self._schedule(settings, self.accounts.build(settings), from_settings.plans(settings))
        self.budgets.show()

    def replace(self, settings: Settings, accounts: Mapping[str, Account], plans: Sequence[Plan]) -> None:
        """Apply other settings, with the accounts and collectors that were built from them.

        The former schedule has stopped, and the new one is to be started. The series of accounts with another address
        are removed, and their targets polled again at once.
        """
        former = self.schedule
        moved = {
            name
            for name in accounts.keys() & former.accounts.keys()
            if spelt_alike(accounts[name].client.base_url) != spelt_alike(former.accounts[name].client.base_url)
        }
        change = self._configure(settings)
        self.schedule = self._schedule(settings, accounts, plans, former.hand_over(moved))
        self._divide_budgets()
        self._targets_changed(change)
        for key, status in list(self.store.statuses()):
            plan, target = self.schedule.plans.get(key.collector), self._registry.by_key.get(key.target, status.target)
            # An account whose discovery is off now is still a target, but not of each collector.
            is_polled = plan is not None and target.kind == plan.collector.polls
            if plan is None or (is_polled and not plan.collector.wants(discovery.without_names(target))):
                self.store.remove(status.target, key.collector)
            if target.client_name in moved:
                self.store.remove(status.target, key.collector)
        for name in former.plans.keys() - self.schedule.plans.keys():
            self._telemetry.forget("collector", name)

    async def hold(
        self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow], render: Callable[[], Awaitable[object]]
    ) -> None:
        """Poll and serve the targets of these shards and no others.

        Args:
            epochs: the shards, with the epochs of their leases. If an epoch is new, another exporter may have held the
                shard in the meantime.
            rows: the stored rows of the shards with new epochs.
            render: renders the exposition.
        """
        before, self._epochs = self._epochs, epochs
        kept = {shard for shard, epoch in epochs.items() if before.get(shard) == epoch}
        # First remove the series of other shards, because another exporter may have counted them since.
        if kept != self._registry.share.held:
            self._poll_shards(kept)
            # What comes back with a new epoch is polled at once, like any new target.
            await self.schedule.targets_changed()
            await render()
        if self._shards.database is not None:
            self._shards.database.rendered = epochs
        self._shards.take_in(rows)
        self.budgets.remember(rows)
        change = self._poll_shards(epochs)
        self._divide_budgets()
        self._telemetry.declare_ups(self.accounts.ups())
        self._telemetry.show_shards(self._registry.share.total, epochs)
        zones = {target.account for target in change.added if target.kind == "shield_zone"}
        # The rate limits of a new shield zone are unknown before the next discovery.
        await self.schedule.targets_changed(zones)

    def save_lists(self) -> None:
        """Store the lists of resources that have changed: they are served after a restart, too."""
        directory = self._registry.directory
        while directory.unsaved:
            place = directory.unsaved.pop()
            self._ledger.keep(*place, directory.pack(place))

    def forget_removed(self) -> None:
        """Delete the counters of targets that have not been polled for longer than their retention."""
        limit = self._clocks.wall() - self._retention
        polled = self.schedule.due_times.polled()
        # The name of a script's budget is kept for as long as the script's counters.
        polled |= {PollKey(key.target, BUDGET_ROWS) for key in polled if key.collector == "scripts"}
        rows = list(self._ledger.remembered().items())
        self._ledger.forget([key for key, row in rows if row.success < limit and key not in polled])

    def _configure(self, settings: Settings) -> Change:
        """Apply settings to the targets and the budgets of scripts; return the change of targets."""
        self.budgets.configured = {
            account.name: ConfiguredBudgets(account.scripts.monthly_budget_dollars, account.scripts.discover)
            for account in settings.accounts
        }
        return self._registry.configure(from_settings.selections(settings))

    def _schedule(
        self,
        settings: Settings,
        accounts: Mapping[str, Account],
        plans: Sequence[Plan],
        memory: PollMemory | None = None,
    ) -> Schedule:
        self.accounts.use(settings, accounts, plans)
        return Schedule(
            {plan.collector.name: plan for plan in plans},
            accounts,
            self._registry,
            self.store,
            self._ledger,
            self._telemetry,
            self._clocks,
            self._targets_changed,
            memory or PollMemory(FailureLog(self._clocks.monotonic)),
            settings.series.max_label_values,
        )

    def _targets_changed(self, change: Change) -> None:
        for target in change.removed:
            self.store.remove(target)
        self.budgets.targets_changed()
        self._leave_rate_limits()

    def _leave_rate_limits(self) -> None:
        """Leave the rows of rate limits that another shard counts now; an account's first complete list shows which."""
        registry = self._registry
        listed = {name for name in self.accounts.entries if registry.is_listed_whole(name, "rate_limit")}
        new = listed - self._with_rate_limits
        self._with_rate_limits |= new
        if new and registry.share.total > 1:
            rows = (key for key in self._ledger.remembered() if key.target.kind == "rate_limit")
            self._ledger.leave([one for one in rows if one.target.account in new and one.target not in registry.by_key])

    def _poll_shards(self, shards: Iterable[int]) -> Change:
        share = Share(frozenset(shards), self._registry.share.total, may_change=True)
        change = self._registry.reshard(share)
        self._targets_changed(change)
        return change

    def _divide_budgets(self) -> None:
        """Use the part of the accounts' budgets that belongs to the shards that are held."""
        share = self._registry.share
        if share.may_change:
            self.schedule.resize(max(1, len(share.held)) / share.total)

    def _remembered(self, collector: str, target: Target) -> tuple[float, Places]:
        row = self._ledger.remembered().get(PollKey(target.key, collector))
        return (row.success, unpack_places(row.data)) if row is not None else (0.0, ())

    def _lifetime(self, collector: str, target: Target) -> float:
        return self.schedule.intervals.lifetime(collector, target)
