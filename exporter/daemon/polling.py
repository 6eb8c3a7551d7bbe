"""Polls the targets of the settings in force and of the shard that this process has."""

from collections.abc import Mapping, Sequence

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.counters.ledger import Ledger
from exporter.counters.rows import lists, unpack_places
from exporter.daemon.accounts import Accounts, MakeClient
from exporter.exposition.store import Store
from exporter.metric import Places
from exporter.platform.operation import spelt_alike
from exporter.polling.failure_log import FailureLog
from exporter.polling.poll import PollMemory
from exporter.polling.scheduler import Schedule
from exporter.polling.script_budgets import BUDGET_ROWS, ConfiguredBudgets, ScriptBudgets
from exporter.polling.timetable import Account, Plan
from exporter.settings.model import Settings
from exporter.targets.registry import Change, Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry
from exporter.wiring import from_settings


class Polling:
    """The targets, accounts, budgets and schedule, which reloads replace.

    Args:
        settings: the first settings.
        shard: the shard that is polled.
        ledger: counts the polls; its storage is open.
        make_client: creates the client of an account or a database.

    Attributes:
        store: the results of polls.
        accounts: the accounts and databases.
        budgets: the monthly budgets of scripts.
        schedule: polls the targets.
        registry: the targets.

    Raises:
        OSError: a file of trusted certificates cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        shard: Shard,
        ledger: Ledger,
        telemetry: Telemetry,
        clocks: Clocks,
        *,
        make_client: MakeClient,
    ) -> None:
        self._ledger = ledger
        self.registry = Registry(shard)
        self._telemetry = telemetry
        self._clocks = clocks
        self.store = Store(clocks.wall, clocks.monotonic, self._lifetime, self._remembered)
        self.accounts = Accounts(
            telemetry, self._ledger, self.registry, lambda: self.schedule.intervals, clocks.monotonic, make_client
        )
        self.budgets = ScriptBudgets(telemetry, self._ledger, self.registry, clocks)
        self._retention = settings.state.retention
        self._take_in()
        self._configure(settings)
        if not settings.state.is_shared:
            # Another shard counts them now, from its own first poll.
            self._ledger.forget([key for key in self._ledger.remembered() if self.registry.is_strange(key.target)])
        self.schedule = self._schedule(settings, self.accounts.build(settings), from_settings.plans(settings))
        self.budgets.show()

    def _take_in(self) -> None:
        """Take in the names and lists of targets from rows of an earlier run, or of another exporter."""
        rows = self._ledger.remembered()
        names = {key.target: row.name for key, row in rows.items() if row.name and key.collector != BUDGET_ROWS}
        self.registry.remember(names)
        for place, packed in lists(rows).items():
            self.registry.directory.restore(place, packed)

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
        self._targets_changed(change)
        for key, status in list(self.store.statuses()):
            plan, target = self.schedule.plans.get(key.collector), self.registry.by_key.get(key.target, status.target)
            # An account whose discovery is off now is still a target, but not of each collector.
            is_polled = plan is not None and target.kind == plan.collector.polls
            if plan is None or (is_polled and not plan.collector.wants(discovery.without_names(target))):
                self.store.remove(status.target, key.collector)
            if target.client_name in moved:
                self.store.remove(status.target, key.collector)
        for name in former.plans.keys() - self.schedule.plans.keys():
            self._telemetry.forget("collector", name)

    def save_lists(self) -> None:
        """Store the lists of resources that have changed: they are served after a restart, too."""
        directory = self.registry.directory
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
        return self.registry.configure(from_settings.selections(settings))

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
            self.registry,
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

    def _remembered(self, collector: str, target: Target) -> tuple[float, Places]:
        row = self._ledger.remembered().get(PollKey(target.key, collector))
        return (row.success, unpack_places(row.data)) if row is not None else (0.0, ())

    def _lifetime(self, collector: str, target: Target) -> float:
        return self.schedule.intervals.lifetime(collector, target)
