"""The parts that poll, count and render for one shard."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product

from exporter.blocking import blocking
from exporter.collectors import catalogue, discovery
from exporter.counters.ledger import RETRY_SECONDS, Ledger
from exporter.counters.rows import packed_lists
from exporter.counters.storage import Storage
from exporter.daemon import event_loop
from exporter.daemon.accounts import Accounts
from exporter.daemon.machine import Machine
from exporter.daemon.tasks import Tasks
from exporter.explain.causes import Explainer
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import LONGEST_GAP, Renderer
from exporter.exposition.store import HEALTH, STATES, Status, Store
from exporter.label_values import label_value
from exporter.platform.operation import normalized_url
from exporter.polling.failure_log import FailureLog
from exporter.polling.pace import Account, Plan
from exporter.polling.poll import Poller
from exporter.polling.schedule import Schedule
from exporter.settings.model import Settings
from exporter.targets.recent_removals import REMOVAL_SECONDS
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target, TargetKey
from exporter.telemetry import Telemetry
from exporter.web.parts import Parts, Process
from exporter.web.target_statuses import all_statuses
from exporter.wiring.labels_and_thresholds import LabelsAndThresholds
from exporter.wiring.plans import collectors_of, plans_of
from exporter.wiring.selections import addresses_of, selections_of

CLEANED_EVERY_SECONDS = 3600.0
SAVED_EVERY_SECONDS = 5.0
ABSENCES_EVERY_SECONDS = 60.0
FAILURES_EVERY_SECONDS = 60.0
# So short, because a poll may change the name of a target, on which labels and thresholds depend.
SHOWN_EVERY_SECONDS = 5.0


class Work:
    """The parts that poll, count and render for one shard. In a spare, the parts have no targets.

    Args:
        settings: the first settings; `apply` replaces them.

    Attributes:
        tasks: the background tasks, such as the renderer and the saving of lists.
        parts: the parts that the web endpoints read.
    """

    def __init__(
        self,
        settings: Settings,
        shard: Shard,
        storage: Storage,
        telemetry: Telemetry,
        machine: Machine,
        *,
        process: Callable[[], Process],
    ) -> None:
        clocks = machine.clocks
        retention = settings.state.retention
        self._settings, self._telemetry, self._clocks = settings, telemetry, clocks
        self.shard, self.storage = shard, storage
        self.tasks = Tasks(telemetry.task_failures, clocks)
        # A failed write is repeated before the ledger's next call of `keep_open`, one `storage.pulse` later.
        retry = min(RETRY_SECONDS, storage.pulse / 2)
        self.ledger = Ledger(storage, clocks=clocks, retry=retry, retention=retention)
        telemetry.ledger_up.set_function(lambda: not self.ledger.fault)
        self.registry = Registry(shard, clocks.wall, min(REMOVAL_SECONDS, retention))
        self.schedule = Schedule(self.registry, telemetry, clocks, machine.random)
        self.store = Store(clocks.wall, clocks.monotonic, self.schedule.lifetime, self._last_success)
        self._failures = FailureLog()
        self.poller = Poller(self.schedule, self.registry, self.store, self.ledger, telemetry, clocks, self._failures)
        self.accounts = Accounts(telemetry, self.ledger, machine)
        self._labels_and_thresholds = LabelsAndThresholds(self.registry, self.store, telemetry)
        exposition = Exposition(telemetry.registry)
        self.renderer = Renderer(exposition, self.store, telemetry, clocks.monotonic, machine.executors("renderer"))
        self._explainer = Explainer(
            settings=lambda: self._settings,
            collectors=lambda: collectors_of(self._settings),
            registry=self.registry,
            store=self.store,
            ledger_fault=lambda: self.ledger.fault,
        )
        self.parts = Parts(
            process=process,
            store=self.store,
            registry=self.registry,
            schedule=self.schedule,
            ledger=self.ledger,
            renderer=self.renderer,
            explainer=self._explainer,
            clocks=clocks,
        )

    async def start(self) -> None:
        """Open the state, and begin to poll and to render.

        Raises:
            StateLockedError: another process has the state file.
            ConfigurationError: the environment names a proxy that cannot be used.
        """
        await self.ledger.open()
        settings, shard = self._settings, self.shard
        self._restore_names_and_lists()
        await self.apply(settings, self.accounts.build(settings))
        if not settings.state.is_shared:
            # Targets that belong to another shard now are counted by that shard's exporter.
            self.ledger.delete([key for key in self.ledger.remembered() if self.registry.is_elsewhere(key.target)])
        shard_series = {} if shard.index is None else {(str(shard.index), str(shard.total)): 1}
        self._telemetry.show(self._telemetry.shard, shard_series)
        self.poller.start()
        await self.renderer.render()
        self.tasks.repeat("cleaning", CLEANED_EVERY_SECONDS, self.forget_removed)
        self.tasks.repeat("log", FAILURES_EVERY_SECONDS, self._failures.sum_up)
        self.tasks.repeat("lists", SAVED_EVERY_SECONDS, self._save_lists)
        self.tasks.repeat("absences", ABSENCES_EVERY_SECONDS, self._show_absent)
        self.tasks.repeat("targets", SHOWN_EVERY_SECONDS, self.show)
        self.tasks.repeat("renderer", LONGEST_GAP, self.renderer.render, self.renderer.wait)
        self.tasks.begin("loop lag", event_loop.watch_lag(self._telemetry.loop_lag.observe, self._clocks.monotonic))

    async def stop(self) -> None:
        """Stop polling, and try to commit the counters; close the connections even if the call is cancelled."""
        try:
            await self.tasks.cancel()
            await self.poller.stop()
            self._failures.sum_up()
            self._save_lists()
            await self.ledger.close()
        finally:
            await self.accounts.close()

    def _restore_names_and_lists(self) -> None:
        rows = self.ledger.remembered()
        names = {key.target: row.name for key, row in rows.items() if row.name}
        # `add_stored_names` and `restore` keep known names, so the better name comes first. For a script, that is the
        # row's name, usually from the script's own answer. For other kinds, the list may have a newer name.
        self.registry.add_stored_names({key: name for key, name in names.items() if key.kind == "script"})
        for list_key, packed in packed_lists(rows).items():
            self.registry.restore(list_key, packed)
        self.registry.add_stored_names(names)

    async def apply(self, settings: Settings, accounts: Mapping[str, Account]) -> None:
        """Apply settings and the accounts that `Accounts.build` made of the settings; begin the polls that are due.

        Plans that have not changed are kept. Series are removed if no poll provides them any more, or the address of
        their account has changed.
        """
        schedule, former_plans = self.schedule, self.schedule.plans
        plans = await self._new_plans(settings)
        families = [*catalogue.families([plan.collector for plan in plans.values()]), *HEALTH]
        await blocking(self.renderer.thread, self.renderer.exposition.declare, families, settings.series.serves)
        # There is no `await` from here until `tick`: no other task may run while the settings are applied in part.
        self._settings = settings
        former = schedule.accounts
        moved = _with_new_address(former, accounts)
        for name in former_plans.keys() - plans.keys():
            self._telemetry.forget("collector", name)
        for deselected in self.registry.configure(selections_of(settings), addresses_of(settings)):
            self.store.remove(deselected, former_plans)
            if self.registry.is_elsewhere(deselected.key):
                # If the target comes back, it begins anew: the other shard has counted it in the meantime.
                self.ledger.delete(PollKey(deselected.key, name) for name in former_plans)
        self.accounts.use(accounts, plans)
        self.poller.max_label_values = settings.series.max_label_values
        self._telemetry.declare_corrections(families)
        schedule.use(plans, accounts)
        self._remove_unprovided(moved)
        await self.poller.tick()
        self.show()
        await self.accounts.discard_former(former)

    async def _new_plans(self, settings: Settings) -> dict[str, Plan]:
        # On a thread, because compiling the expressions of endpoints and matching patterns of `series` may take long.
        new_plans = await blocking(self.renderer.thread, plans_of, settings)
        former_plans = self.schedule.plans
        # An unchanged plan must stay the former object, because the schedule compares plans by identity.
        return {name: former_plans[name] if former_plans.get(name) == new else new for name, new in new_plans.items()}

    def _remove_unprovided(self, moved: Collection[str]) -> None:
        """Remove series that no poll provides any more, and those of the accounts and databases in `moved`."""
        for status in list(self.store.statuses.values()):
            if status.target.client_name in moved or not self._is_polled(status):
                self.store.remove(status.target, (status.collector,))

    def _is_polled(self, status: Status) -> bool:
        plan = self.schedule.plans.get(status.collector)
        if plan is None:
            return False
        target = self.registry.by_key.get(status.target.key, status.target)
        # A status may be of a target that the collector finds in the answer for an account, and does not poll itself.
        if target.kind != plan.collector.polls:
            return True
        return discovery.has_status(plan.collector, target)

    def show(self) -> None:
        """Update the metrics of accounts and targets, except the metrics that polls publish."""
        telemetry, ups = self._telemetry, self.accounts.up_by_account()
        # `edge_up` of an account comes from the shard that the account belongs to.
        own = {(name,): up for name, up in ups.items() if self.registry.owns(TargetKey.of(name, "account", name))}
        telemetry.show(telemetry.up, own)
        telemetry.show(telemetry.clock_offset, self.accounts.clock_offsets())
        statuses = list(all_statuses(self.parts))
        self._show_states(statuses, ups)
        self._show_left_out(statuses)
        removals = self.registry.removals()
        removed = {(one.key.account, one.key.label, label_value(one.name)): one.at for one in removals}
        telemetry.show(telemetry.target_removed, removed)
        self._labels_and_thresholds.show(self._settings)

    def _show_states(self, statuses: Sequence[Status], accounts: Iterable[str]) -> None:
        telemetry = self._telemetry
        # Every account and database has a series for each state, also for 0 targets.
        states = Counter(dict.fromkeys(product(self.schedule.accounts, STATES), 0))
        states.update((one.target.client_name, one.state) for one in statuses)
        telemetry.show(telemetry.targets, states)
        failing = Counter((one.target.account, one.collector, one.reason) for one in statuses if one.reason)
        telemetry.show(telemetry.failing, failing)
        # No series for databases: their answers have no totals to compare with days. Expired values are not counted.
        mismatched = Counter(dict.fromkeys(((name,) for name in accounts), 0))
        mismatched.update((one.target.account,) for one in statuses if one.is_mismatched and one.families)
        telemetry.show(telemetry.mismatched, mismatched)

    def _show_left_out(self, statuses: Iterable[Status]) -> None:
        left_out = Counter[str]()
        for one in statuses:
            # After its series have ended, a status still has the numbers of its last good answer: do not count them.
            if one.families:
                left_out.update(one.left_out)
        serves = self._settings.series.serves
        numbers = {(name,): number for name, number in left_out.items() if serves(name)}
        self._telemetry.show(self._telemetry.dropped, numbers)

    async def _show_absent(self) -> None:
        self._telemetry.show(self._telemetry.absent, await self._explainer.count_absent())

    def _save_lists(self) -> None:
        self.registry.save(self.ledger.store_list)

    def forget_removed(self) -> None:
        """Delete the counters of polls that are no longer made, if the last success is over `state.retention` ago."""
        limit = self._clocks.wall() - self._settings.state.retention
        polled = self.schedule.polled()
        rows = self.ledger.remembered().items()
        self.ledger.delete([key for key, row in rows if row.success < limit and key not in polled])

    def _last_success(self, collector: str, target: Target) -> float:
        """Return when a target's poll last succeeded, by the ledger's row, in unix seconds; 0.0 without a row."""
        row = self.ledger.remembered().get(PollKey(target.key, collector))
        return row.success if row is not None else 0.0


def _with_new_address(former: Mapping[str, Account], accounts: Mapping[str, Account]) -> set[str]:
    return {
        name
        for name in accounts.keys() & former.keys()
        if normalized_url(accounts[name].client.base_url) != normalized_url(former[name].client.base_url)
    }
