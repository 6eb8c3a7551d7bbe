"""The daemon: builds and connects all parts, and starts, reloads and stops them."""

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from exporter import __version__, runtime, wiring
from exporter.clients import account_entry, client_of
from exporter.clock import SYSTEM
from exporter.collectors.catalogue import families
from exporter.cooperative import in_slices
from exporter.counters.ledger import Ledger
from exporter.counters.storage import LeaseLostError, StateLockedError, Stored
from exporter.daemon.account_observer import AccountObserver
from exporter.daemon.shard_changes import HeldShards, ShardChanges
from exporter.event_loop import Turns, watch_lag
from exporter.explain.counting import keep_counting
from exporter.explain.explainer import Explainer, Sources
from exporter.explain.scope import Scope
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.status_board import HEALTH, StatusBoard
from exporter.exposition.store import Store
from exporter.log import configure, logger
from exporter.metric import FamilyInfo
from exporter.platform.api import database
from exporter.polling.intervals import Account
from exporter.polling.scheduler import Schedule, ScheduleState
from exporter.polling.script_budgets import BUDGET_ROWS, BudgetMetrics
from exporter.settings.endpoint_names import misnamed
from exporter.settings.exposure import exposed
from exporter.settings.faults import ConfigurationError, KeyPath, written
from exporter.settings.model import Settings
from exporter.state_storage import database_storage, file_storage
from exporter.targets.registry import Change, Registry
from exporter.targets.sharding import Share
from exporter.targets.target import DATABASE_PREFIX, PollKey, Target, TargetKey
from exporter.telemetry import Telemetry
from exporter.web.app import create_app
from exporter.web.server import WebServer
from exporter.web.status import View
from exporter.web.status_models import LedgerView

if TYPE_CHECKING:
    from exporter.counters.database_storage import DatabaseStorage

STOP_SECONDS = 4.5
CLEANING_SECONDS = 3600.0
# A script's name comes with its first poll, and can change with any poll.
BUDGETS_SECONDS = 10.0
# The interval of attempts to take a held lease at the start, and their duration in lengths of a lease.
HELD_SECONDS = 1.0
LEASES_AWAITED = 1.3


class Daemon:
    """The exporter.

    Args:
        settings: the configuration.
        load: reads the settings again, for a reload.

    Attributes:
        server: serves the endpoints, once it has started.
        ledger: counts.
        schedule: polls; a reload replaces it.
        renderer: prints the exposition.
    """

    def __init__(self, settings: Settings, load: Callable[[], Settings]) -> None:
        self.settings = settings
        self._load = load
        self._clocks = SYSTEM
        self._turns = Turns()
        self._log = logger()
        self._telemetry = Telemetry(CollectorRegistry(), __version__)
        self._share = (
            Share(frozenset(), settings.shard.total, may_change=True)
            if settings.shard.is_leased
            else settings.shard.shard(socket.gethostname())
        )
        self._ending = asyncio.Event()
        self._call_soon: Callable[..., object]
        self._end_soon: Callable[[], object]
        self._is_lost = False
        # The shards that are polled, with the epochs of their leases, where they change hands.
        self._epochs: Mapping[int, int] = {}
        self._database = self._database_storage() if settings.state.is_shared else None
        self._storage = self._database or file_storage(settings.state, self._telemetry.set_aside)
        self.ledger = Ledger(self._storage, self._telemetry, clocks=self._clocks)
        self._observers: dict[str, AccountObserver] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._reloading = asyncio.Lock()
        self._config_faults: tuple[str, ...] = ()
        self._unsettled: set[tuple[str, str]] = set()
        self._scripts_listed: set[str] = set()
        self._budgets: BudgetMetrics
        self._grown: Callable[[], None] = lambda: None
        self._config_loaded = self._clocks.wall()
        self._store: Store
        self._registry: Registry
        self.renderer: Renderer
        self.schedule: Schedule
        self._scope: Scope
        self._explainer: Explainer
        self.server: WebServer

    @property
    def state_location(self) -> str | None:
        """The location of the counters' state, without a password; None where they start anew with the process."""
        return self._storage.location or None

    async def start(self) -> None:
        """Build the parts, and begin to poll and to serve.

        Raises:
            StateLockedError: another process has the state file.
            OSError: the address cannot be used, or a file that the settings name cannot be read.
            WebConfigError: the web configuration file is wrong.
        """
        self.server = WebServer(
            self.settings.web.listen.host, self.settings.web.listen.port, self.settings.web.config_file
        )
        self.server.bind()
        self._call_soon = asyncio.get_running_loop().call_soon_threadsafe
        self._end_soon = partial(self._call_soon, self._ending.set)
        try:
            await self._open_ledger()
        except StateLockedError:
            await self.server.stop()
            raise
        loop = asyncio.get_running_loop()
        rows = dict(self.ledger.remembered())
        names = {key.target: row.name for key, row in rows.items() if _names(key, row)}
        self._budgets = BudgetMetrics(self._telemetry, self.ledger, rows, alone=self._share.total == 1)
        self._registry = Registry(self._share, names)
        board = StatusBoard(self._clocks.wall, self._remembered)
        self._store = Store(board, self._clocks.monotonic, self._lifetime)
        self.renderer = self._build_renderer()
        self._registry.configure(wiring.selections(self.settings))
        self._scope = wiring.scope(self.settings)
        # They belong to another shard now, which counts them from its own first poll.
        self.ledger.leave([key for key in rows if self._registry.is_strange(key.target)])
        if self._share.total > 1:
            self._unsettled = {(key.target.account, key.target.kind) for key in rows if key.target.kind == "rate_limit"}
        accounts = self._build_accounts(self.settings, {})
        self.schedule = self._build_schedule(accounts, loop, None)
        self._declare(accounts)
        self._warn(exposed(self.settings))
        self._telemetry.declare_shards(
            range(self._share.total) if self._share.may_change else self._share.held, self._is_held
        )
        self._telemetry.show_shards(self._share.total, dict.fromkeys(self._share.held))
        self._note_loaded()
        self._show_budgets()
        self.schedule.start()
        await self.renderer.render()
        self._begin(self.renderer.run(), "renderer")
        self._begin(self._clean(), "cleaning")
        self._begin(self._follow_budgets(), "budgets")
        self._explainer = self._build_explainer()
        self._begin(
            keep_counting(self._explainer, self._telemetry.show_absent, self._clocks.monotonic), "absence counting"
        )
        self._begin(watch_lag(self._telemetry.loop_lag.observe, self._clocks.monotonic), "loop lag")
        prefix = self.settings.web.route_prefix
        app = create_app(self._view(), self.renderer, self.reload, self._database, route_prefix=prefix)
        self.server.leave_room(_calls_at_once(accounts))
        await self.server.start(app, prefix)
        if self._database is not None and self._share.may_change:
            self._database.leases.start()
        self._log.info("serving", url=self.server.url + prefix.rstrip("/") + "/metrics")

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Start, call `started`, and serve until SIGTERM or SIGINT.

        The daemon owns the process: it sets the handlers of signals and the tuning of threads.
        """
        runtime.share()
        self._grown = runtime.settle
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_soon)
        await self.start()
        started()
        try:
            await self._ending.wait()
        finally:
            self._log.info("stopping")
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self.stop()
        if self._is_lost:
            # The state of this process is older than the counts of the other one, so that it has to start again.
            raise LeaseLostError(f"another exporter has taken this one's shard in {self._storage.location}")

    async def _open_ledger(self) -> None:
        """Open the ledger; wait for a lease that another process left, so that names are known."""
        ends = self._clocks.monotonic() + self.settings.state.lease * LEASES_AWAITED
        while not await asyncio.to_thread(
            self.ledger.open, may_wait=self._clocks.monotonic() < ends and not self._ending.is_set()
        ):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), HELD_SECONDS)

    def _database_storage(self) -> "DatabaseStorage":
        changes = ShardChanges(
            self._telemetry, lost=self._shard_lost, renewed=self._leases_renewed, held=self._shards_held
        )
        return database_storage(self.settings.state, self._share, changes, self._shard_of)

    def _shard_of(self, key: PollKey) -> int | None:
        return self._registry.shard_of(key.target) if self._share.may_change else self._share.first

    def _shard_lost(self) -> None:
        """Drop a shard that another exporter has, from any thread; end the process where it can have no other."""
        if self._share.may_change:
            self.ledger.wake()
        else:
            self._is_lost = True
            self._end_soon()

    def _leases_renewed(self) -> None:
        """Let the ledger read the rows of new shards, or write what it could not, from any thread."""
        if self._database is not None and (self._database.is_behind() or self.ledger.fault):
            self.ledger.wake()

    def _shards_held(self, held: HeldShards) -> None:
        """Poll the targets of these shards and no others, from any thread."""
        if self._share.may_change:
            with suppress(RuntimeError):
                self._call_soon(self._begin_holding, held)

    def _begin_holding(self, held: HeldShards) -> None:
        self._begin(self._hold(held), "shards")

    async def _hold(self, held: HeldShards) -> None:
        async with self._reloading:
            before, self._epochs = self._epochs, held.epochs
            kept = {shard for shard, epoch in held.epochs.items() if before.get(shard) == epoch}
            # What was served of the others is removed first: another exporter may have counted them since.
            if kept != self._registry.share.held:
                await self._poll_shards(kept)
                await self.renderer.render()
            if self._database is not None:
                self._database.rendered(held.epochs)
            self._registry.remember({key.target: row.name for key, row in held.rows.items() if _names(key, row)})
            self._budgets.remember(held.rows)
            change = await self._poll_shards(held.epochs)
            self._share_budgets()
            self._telemetry.declare_ups(self._ups())
            self._telemetry.show_shards(self._share.total, held.epochs)
            zones = {target.account for target in change.added if target.kind == "shield_zone"}
            # Which rate limits a new shield zone has is not known before the next discovery.
            await self.schedule.targets_changed(zones)

    async def _poll_shards(self, shards: Iterable[int]) -> Change:
        share = Share(frozenset(shards), self._share.total, may_change=True)
        change = await in_slices(self._registry.holding(share), self._clocks.monotonic)
        self._targets_changed(change)
        return change

    def _share_budgets(self) -> None:
        """Use the part of the accounts' budgets that belongs to the shards that are held."""
        share = self._registry.share
        if share.may_change:
            self.schedule.resize(max(1, len(share.held)) / share.total)

    def _is_held(self, shard: int) -> bool:
        return shard in self._database.counted() if self._database is not None else self._storage.holds()

    async def stop(self) -> None:
        """Stop polling and serving, and commit the counters."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.schedule.stop()
        await asyncio.to_thread(self.ledger.close)
        await self.server.stop()
        for account in self.schedule.accounts.values():
            await account.client.aclose()
        self.renderer.close()

    def _begin(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Run a task in the background, until it ends or the daemon stops."""
        task: asyncio.Task[object] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log.error("background task failed", work=task.get_name(), error=repr(error), exc_info=error)

    def _remembered(self, collector: str, target: Target) -> float:
        row = self.ledger.remembered().get(target.polled_by(collector))
        return row.success if row is not None else 0.0

    def _lifetime(self, collector: str, target: Target) -> float:
        return self.schedule.lifetime(collector, target)

    def _build_renderer(self) -> Renderer:
        series = self.settings.series
        exposition = Exposition(
            self._telemetry.exposed(), cap=series.max_per_family, admits=series.serves, created=series.created
        )
        exposition.declare(_all_families(self.settings))
        return Renderer(exposition, self._store, self._telemetry, self._clocks.monotonic, grown=self._grown)

    def _build_accounts(self, settings: Settings, former: Mapping[str, Account]) -> dict[str, Account]:
        """Build a client for each account and database; those with unchanged settings are kept.

        Raises:
            OSError: a file of trusted certificates cannot be read.
        """
        known = wiring.named(self.settings)
        accounts: dict[str, Account] = {}
        for name, configured in wiring.named(settings).items():
            if name in former and known.get(name) == configured:
                accounts[name] = former[name]
            else:
                client = client_of(
                    configured,
                    self._observer(name),
                    settings.shard.parts,
                    platform_time=self.ledger.platform_time(name),
                    pause=self.ledger.pause(name),
                    turns=self._turns,
                )
                accounts[name] = account_entry(client)
        return accounts

    def _declare(self, accounts: Mapping[str, Account]) -> None:
        """Start the series of all accounts."""
        plans = wiring.plans(self.settings)
        of_accounts = {
            operation.name
            for plan in plans
            if plan.collector.polls not in ("database", "query")
            for operation in plan.collector.operations
        }
        for name in accounts:
            endpoints = {database.PIPELINE.name} if name.startswith(DATABASE_PREFIX) else of_accounts
            self._telemetry.declare_calls(name, sorted(endpoints))
        self._telemetry.declare_counters(_all_families(self.settings))
        self._telemetry.declare_accounts(self._ups())

    def _ups(self) -> dict[str, Callable[[], bool] | None]:
        """Return for each account whether it is up; one shard reports it, and all shards report their own calls."""
        return {
            account.name: partial(self._is_up, account.name, account.timeout)
            if self._registry.owns(TargetKey.of(account.name, "account", account.name))
            else None
            for account in self.settings.accounts
        }

    def _observer(self, name: str) -> AccountObserver:
        if name not in self._observers:
            self._observers[name] = AccountObserver(self._telemetry, name, self._clocks.monotonic)
        return self._observers[name]

    def _is_up(self, account: str, timeout: float) -> bool:
        return self._observers[account].is_up(self.schedule.intervals.shortest(account), timeout)

    def _build_schedule(
        self, accounts: Mapping[str, Account], loop: asyncio.AbstractEventLoop, left: ScheduleState | None
    ) -> Schedule:
        return Schedule(
            wiring.plans(self.settings),
            accounts,
            registry=self._registry,
            store=self._store,
            ledger=self.ledger,
            telemetry=self._telemetry,
            clocks=self._clocks,
            call_soon=loop.call_soon_threadsafe,
            changed=self._targets_changed,
            left=left,
        )

    def _targets_changed(self, change: Change) -> None:
        for target in change.removed:
            self._store.remove(target)
        settled = self._unsettled & change.settled
        if settled:
            # The shard of a rate limit is known when its shield zone is; until then it is not polled here.
            self._unsettled -= settled
            rows = [key for key in dict(self.ledger.remembered()) if (key.target.account, key.target.kind) in settled]
            self.ledger.leave([key for key in rows if not self._registry.holds(key.target)])
        self._scripts_listed |= {account for account, kind in change.settled if kind == "script"}
        self._show_budgets()

    async def _follow_budgets(self) -> None:
        while True:
            await asyncio.sleep(BUDGETS_SECONDS)
            self._show_budgets()

    def _show_budgets(self) -> None:
        scripts = list(self._registry.targets("script"))
        configured = {account.name: account.scripts.monthly_budget_dollars for account in self.settings.accounts}
        # All scripts of an account are known after a complete listing, or if the configuration names each of them.
        unnamed = {script.account for script in scripts if not script.name}
        known = {
            account.name
            for account in self.settings.accounts
            if account.name not in unnamed and (account.name in self._scripts_listed or not account.scripts.discover)
        }
        self._budgets.show(scripts, configured, known, self._clocks.utc())

    def _view(self) -> View:
        return View(
            board=self._store.board,
            registry=self._registry,
            schedule=lambda: self.schedule,
            account_up=self._accounts_up,
            is_authenticated=self._is_authenticated,
            ledger=self._ledger_view,
            explainer=self._explainer,
            ledger_alive=self.ledger.is_alive,
            renderer_alive=self.renderer.is_alive,
            series=lambda: self.renderer.current.series,
            config=lambda: (self._config_loaded, self._config_faults),
            unmatched_budgets=lambda: self._budgets.unmatched,
            clocks=self._clocks,
            version=__version__,
            share=lambda: self._registry.share,
            leases=None if self._database is None else self._database.leases,
            started=self._config_loaded,
        )

    def _build_explainer(self) -> Explainer:
        sources = Sources(
            scope=lambda: self._scope,
            registry=self._registry,
            board=self._store.board,
            schedule=lambda: self.schedule,
            is_capped=self.renderer.is_capped,
            accepted=self._accepted,
            ledger_fault=lambda: self.ledger.fault,
            holders=self._holders,
            clocks=self._clocks,
        )
        return Explainer(sources)

    def _holders(self) -> dict[int, str]:
        holdings = () if self._database is None else self._database.leases.holdings
        return {holding.shard: holding.holder for holding in holdings}

    def _accepted(self, account: str) -> float:
        """Return when an account's credential was last accepted, as unix seconds; 0 if never."""
        observer = self._observers.get(account)
        if observer is None or observer.authenticated is None:
            return 0.0
        return self._clocks.wall() - (self._clocks.monotonic() - observer.authenticated)

    def _is_authenticated(self) -> bool:
        """Return whether an account (or a database, if there are no accounts) has answered an authenticated call."""
        names = [account.name for account in self.settings.accounts] or list(self._observers)
        return any(name in self._observers and self._observers[name].authenticated is not None for name in names)

    def _ledger_view(self) -> LedgerView:
        return LedgerView(
            durable=self.settings.state.is_durable,
            saves=self._telemetry.ledger_saves,
            set_aside=self._telemetry.set_aside_at,
        )

    def _accounts_up(self) -> dict[str, bool]:
        return {account.name: self._is_up(account.name, account.timeout) for account in self.settings.accounts}

    def _note_loaded(self) -> None:
        self._config_loaded = self._clocks.wall()
        self._config_faults = ()
        self._telemetry.reload_successful.set(1)
        self._telemetry.reload_success_time.set(self._config_loaded)

    def _warn(self, shown: Iterable[tuple[KeyPath, str]]) -> None:
        for path, message in shown:
            self._log.warning("credential is exposed", setting=written(path), reason=message)
        for path, message in misnamed(self.settings.endpoints):
            self._log.warning("metric is named against the conventions", setting=written(path), reason=message)

    def _reload_soon(self) -> None:
        self._begin(self.reload(), "reload")

    async def reload(self) -> tuple[str, ...]:
        """Read the settings again and apply all of them, or none.

        Returns:
            The faults for which they were refused; none if they are in force.
        """
        async with self._reloading:
            self.renderer.be_eager()
            try:
                settings = await asyncio.to_thread(self._load)
                shown = await asyncio.to_thread(lambda: list(exposed(settings)))
                accounts = self._build_accounts(settings, self.schedule.accounts)
                # The last step that can be refused: a wrong file changes nothing, in the web configuration neither.
                await self.server.reload()
                await self._take_over(settings, accounts)
                self._warn(shown)
            except ConfigurationError as error:
                self._refuse(map(str, error.faults))
            except OSError as error:
                self._refuse([f"{error.filename or 'a file'}: {error.strerror or error}"])
            # A scrape after the answer to a reload must show its result.
            await self.renderer.render()
            return self._config_faults

    def _refuse(self, faults: Iterable[str]) -> None:
        self._config_faults = tuple(faults)
        self._telemetry.reload_successful.set(0)
        self._log.error("configuration refused, the old one stays in force", faults=list(self._config_faults))

    async def _take_over(self, settings: Settings, accounts: Mapping[str, Account]) -> None:
        fixed = [name for name in ("web", "state", "shard") if getattr(settings, name) != getattr(self.settings, name)]
        if fixed:
            self._log.warning("settings that take a restart have changed", sections=fixed)
        former = self.schedule
        series = settings.series
        await self.renderer.govern(series.max_per_family, series.serves, created=series.created)
        await self.renderer.declare(_all_families(settings))
        await former.stop()
        # No await from here to the end of the change: a scrape or a page sees either the old state or the new one.
        self.settings = settings
        configure(settings.log.level, settings.log.format)
        change = self._registry.configure(wiring.selections(settings))
        self._scope = wiring.scope(settings)
        self.schedule = self._build_schedule(accounts, asyncio.get_running_loop(), former.hand_over())
        self._share_budgets()
        self.server.leave_room(_calls_at_once(accounts))
        self._declare(accounts)
        self._targets_changed(change)
        for key, status in list(self._store.board.statuses()):
            if key.collector not in self.schedule.plans:
                self._store.remove(status.target, key.collector)
        self._note_loaded()
        self.schedule.start()
        for name in former.accounts.keys() - accounts.keys():
            self._telemetry.forget("account", name)
            self._observers.pop(name, None)
        for name in former.plans.keys() - self.schedule.plans.keys():
            self._telemetry.forget("collector", name)
        for name, account in former.accounts.items():
            if accounts.get(name) is not account:
                await account.client.aclose()
        self._log.info("configuration loaded")

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEANING_SECONDS)
            self.forget_removed()

    def forget_removed(self) -> None:
        """Delete the counters of targets that have not been polled for longer than their retention."""
        limit = self._clocks.wall() - self.settings.state.retention
        polled = self.schedule.polled()
        # The name of a budget is kept as long as its script.
        polled |= {PollKey(key.target, BUDGET_ROWS) for key in polled if key.collector == "scripts"}
        old = [key for key, row in list(self.ledger.remembered().items()) if row.success < limit and key not in polled]
        self.ledger.forget(old)


def _all_families(settings: Settings) -> list[FamilyInfo]:
    collectors = [plan.collector for plan in wiring.plans(settings)]
    return [*families(collectors), *HEALTH]


def _names(key: PollKey, row: Stored) -> bool:
    """Whether a row holds its target's name."""
    return bool(row.name) and key.collector != BUDGET_ROWS


def _calls_at_once(accounts: Mapping[str, Account]) -> int:
    return sum(account.client.rate_limiter.most_in_flight for account in accounts.values())
