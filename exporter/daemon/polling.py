"""Polls the targets of the settings in force and of the shard that this process has."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.counters.ledger import Ledger
from exporter.counters.rows import lists
from exporter.daemon.accounts import Accounts, MakeClient
from exporter.exposition.store import Store
from exporter.metric import label_value
from exporter.platform.operation import spelt_alike
from exporter.polling.failure_log import FailureLog
from exporter.polling.pace import Account, Plan
from exporter.polling.poll import Poller
from exporter.polling.schedule import Schedule
from exporter.polling.script_budgets import ConfiguredBudgets, ScriptBudgets
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.resource_lists import MOVES_LAST
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target, TargetKey
from exporter.telemetry import Telemetry
from exporter.wiring import from_settings
from exporter.wiring.target_labels import families_of

# In place of a collector's name: what no poll gives.
_CONFIGURATION = "configuration"
_OTHER = Target("", "", "")
# More would hold up the event loop; the next round has the rest.
_LABELLED_AT_ONCE = 1000


class Polling:
    """The targets, accounts, budgets and schedule. A reload replaces what differs in them; all else goes on.

    Args:
        settings: the first settings.
        shard: the shard that is polled.
        ledger: counts the polls; its storage is open.
        random: returns a number in [0, 1).
        make_client: creates the client of an account or a database.

    Attributes:
        store: the results of polls.
        accounts: the accounts and databases.
        budgets: the monthly budgets of scripts.
        schedule: decides when each target is polled.
        poller: polls the targets.
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
        random: Callable[[], float],
        make_client: MakeClient,
    ) -> None:
        self._ledger = ledger
        self.registry = Registry(shard, clocks.wall, min(MOVES_LAST, settings.state.retention))
        self._telemetry = telemetry
        self._clocks = clocks
        self.schedule = Schedule(self.registry, telemetry, clocks, random)
        self.store = Store(clocks.wall, clocks.monotonic, self.schedule.lifetime, self._remembered)
        self.failures = FailureLog(clocks.monotonic)
        self.poller = Poller(
            self.schedule, self.registry, self.store, ledger, telemetry, clocks, self.failures, self._targets_changed
        )
        self.accounts = Accounts(telemetry, ledger, self.registry, clocks.monotonic, make_client)
        self.budgets = ScriptBudgets(telemetry, self.registry)
        self._retention = settings.state.retention
        # The targets whose labels and thresholds are served.
        self._labelled: dict[TargetKey, Target] = {}
        self._take_in()
        self.replace(settings, self.accounts.build(settings), from_settings.plans(settings))
        if not settings.state.is_shared:
            # Another shard counts them now, from its own first poll.
            self._ledger.forget([key for key in self._ledger.remembered() if self.registry.is_elsewhere(key.target)])

    def _take_in(self) -> None:
        """Take in the names and lists of targets from rows of an earlier run, or of another exporter."""
        rows = self._ledger.remembered()
        names = {key.target: row.name for key, row in rows.items() if row.name}
        self.registry.remember(names)
        for place, packed in lists(rows).items():
            self.registry.resources.restore(place, packed)

    async def start(self) -> None:
        """Begin to poll."""
        await self.schedule.start(self.poller.poll)

    async def stop(self) -> None:
        """Stop polling."""
        await self.schedule.stop()
        self.failures.sum_up(end=True)

    def replace(self, settings: Settings, accounts: Mapping[str, Account], plans: Mapping[str, Plan]) -> None:
        """Apply settings, with the accounts and plans that were built from them.

        What is equal to what was in force goes on. The series of accounts with another address are removed, and their
        targets are polled at once.
        """
        schedule, former = self.schedule, self.schedule.accounts
        known = schedule.plans
        plans = {name: known[name] if known.get(name) == plan else plan for name, plan in plans.items()}
        moved = {
            name
            for name in accounts.keys() & former.keys()
            if spelt_alike(accounts[name].client.base_url) != spelt_alike(former[name].client.base_url)
        }
        for name in schedule.plans.keys() - plans.keys():
            self._telemetry.forget("collector", name)
        # All labels and thresholds are served again.
        self._families_of = partial(families_of, settings)
        self._labelled = dict.fromkeys(self._labelled, _OTHER)
        self.budgets.configured = {
            account.name: ConfiguredBudgets(account.scripts.monthly_budget_dollars, account.scripts.discover)
            for account in settings.accounts
        }
        removed = self.registry.configure(from_settings.selections(settings), from_settings.addresses(settings))
        self.accounts.use(settings, accounts, plans)
        self.poller.max_label_values = settings.series.max_label_values
        schedule.use(plans, accounts)
        self._targets_changed(removed)
        for key, status in list(self.store.statuses()):
            plan, target = plans.get(key.collector), self.registry.by_key.get(key.target, status.target)
            # An account whose discovery is off now is still a target, but not of each collector.
            is_polled = plan is not None and target.kind == plan.collector.polls
            is_unwanted = plan is None or (is_polled and not plan.collector.wants(discovery.without_names(target)))
            if is_unwanted or target.client_name in moved:
                self.store.remove(status.target, key.collector)

    def show(self) -> None:
        """Serve what is known of the targets beside their polls: budgets, labels and removals."""
        self.budgets.show()
        self._show_labels()
        self._show_removed()

    def _show_labels(self) -> None:
        """Serve the labels and thresholds of targets that are new, gone, or have another name."""
        shown, polled = self._labelled, self.registry.by_key
        changed = [key for key in shown.keys() | polled.keys() if shown.get(key) is not polled.get(key)]
        for key in changed[:_LABELLED_AT_ONCE]:
            target = polled.get(key)
            self.store.change(PollKey(key, _CONFIGURATION), self._families_of(target) if target is not None else ())
            if target is not None:
                shown[key] = target
            else:
                del shown[key]

    def save_lists(self) -> None:
        """Store the lists of resources that have changed: they are served after a restart, too."""
        resources = self.registry.resources
        while resources.unsaved:
            place = resources.unsaved.pop()
            self._ledger.keep(*place, resources.pack(place))

    def _show_removed(self) -> None:
        """Serve when targets left the platform."""
        gone = [move for move in self.registry.moves() if move.is_gone]
        removed = {(move.key.account, move.key.label, label_value(move.name)): move.at for move in gone}
        self._telemetry.show_removed(removed)

    def forget_removed(self) -> None:
        """Delete the counters of targets that have not been polled for longer than their retention."""
        limit = self._clocks.wall() - self._retention
        polled = self.schedule.polled()
        rows = list(self._ledger.remembered().items())
        self._ledger.forget([key for key, row in rows if row.success < limit and key not in polled])

    def _targets_changed(self, removed: Collection[Target]) -> None:
        for target in removed:
            self.store.remove(target)
        self.show()

    def _remembered(self, collector: str, target: Target) -> float:
        row = self._ledger.remembered().get(PollKey(target.key, collector))
        return row.success if row is not None else 0.0
