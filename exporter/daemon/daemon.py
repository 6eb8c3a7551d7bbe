"""The daemon: builds and connects all parts, and starts, reloads and stops them."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from typing import Any, Self

from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from exporter import __version__
from exporter.clock import SYSTEM, Clocks
from exporter.collectors.catalogue import families
from exporter.counters.rows import StateRow
from exporter.counters.storage import LeaseLostError, StateLockedError
from exporter.daemon import runtime
from exporter.daemon.polling import Polling
from exporter.daemon.shards import Shards
from exporter.explain.explainer import Explainer
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import HEALTH
from exporter.log import configure, logger
from exporter.metric import FamilyInfo
from exporter.polling.scheduler import Schedule
from exporter.polling.timetable import Account, Plan
from exporter.settings.model import Settings
from exporter.settings.warnings import exposed, misnamed
from exporter.targets.target import PollKey
from exporter.telemetry import Telemetry
from exporter.validation.faults import ConfigurationError, KeyPath, written
from exporter.web.app import create_app
from exporter.web.server import WebServer
from exporter.web.status import View
from exporter.web.status_models import LedgerView
from exporter.wiring import from_settings

STOP_SECONDS = 4.5
CLEANED_EVERY_SECONDS = 3600.0
SAVED_EVERY_SECONDS = 5.0
ABSENCES_EVERY_SECONDS = 15.0
# A script's name comes with its first poll, and can change with any poll.
BUDGETS_EVERY_SECONDS = 10.0
# At the start, a lease that another process holds is tried at this interval, for this many lengths of a lease.
HELD_SECONDS = 1.0
LEASES_AWAITED = 1.3


@dataclass(eq=False, repr=False)
class Daemon:
    """The exporter while it runs; `start` makes it.

    Attributes:
        settings: the configuration that is in force.
        load: reads the settings again, for a reload.
        shards: the shards that this process polls, and their state.
        server: serves the endpoints.
        ledger: counts polls, and stores the counters.
        polling: polls the targets.
        renderer: renders the exposition.
    """

    settings: Settings
    load: Callable[[], Settings]
    clocks: Clocks
    telemetry: Telemetry
    shards: Shards
    server: WebServer
    grown: InitVar[Callable[[], None]]
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Of one thread, because a parsed answer may take many times its size.
    _parsing: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "answers"))
    _config_faults: tuple[str, ...] = ()
    _log: FilteringBoundLogger = field(default_factory=logger)

    def __post_init__(self, grown: Callable[[], None]) -> None:
        clocks, series = self.clocks, self.settings.series
        self.ledger = self.shards.ledger
        self.polling = Polling(self.settings, self.shards, self.telemetry, clocks, self._parsing)
        self._config_loaded = clocks.wall()
        exposition = Exposition(self.telemetry.exposed(), admits=series.serves)
        exposition.declare(_all_families(self.schedule.plans.values()))
        self.renderer = Renderer(exposition, self.polling.store, self.telemetry, clocks.monotonic, grown=grown)

    @classmethod
    async def start(
        cls,
        settings: Settings,
        load: Callable[[], Settings],
        clocks: Clocks = SYSTEM,
        *,
        ending: asyncio.Event | None = None,
        grown: Callable[[], None] = lambda: None,
    ) -> Self:
        """Build the parts, and begin to poll and to serve.

        Args:
            settings: the configuration.
            load: reads the settings again, for a reload.
            clocks: the clocks.
            ending: says that the process ends; it is also set when another exporter has claimed the only shard.
            grown: called when many long-lived objects were created or replaced.

        Raises:
            StateLockedError: another process has the state file.
            OSError: the address cannot be used, or a file that the settings name cannot be read.
            ConfigurationError: the web configuration file is wrong.
        """
        server = WebServer(settings.web.listen.host, settings.web.listen.port, settings.web.config_file)
        loop, telemetry = asyncio.get_running_loop(), Telemetry(CollectorRegistry(), __version__)
        ending = ending or asyncio.Event()
        shards = Shards(
            settings,
            telemetry,
            clocks,
            # Leases are claimed at the end of the start.
            held=lambda *change: loop.call_soon_threadsafe(lambda: daemon.hold_soon(*change)),
            lost=lambda: loop.call_soon_threadsafe(ending.set),
        )
        # Wait for a lease that another process left, so that names are known.
        waits_until = clocks.monotonic() + settings.state.lease * LEASES_AWAITED
        try:
            while not await shards.ledger.open(may_wait=clocks.monotonic() < waits_until and not ending.is_set()):
                with suppress(TimeoutError):
                    await asyncio.wait_for(ending.wait(), HELD_SECONDS)
        except StateLockedError:
            await server.stop()
            raise
        shards.take_in(dict(shards.ledger.remembered()))
        daemon = cls(settings, load, clocks, telemetry, shards, server, grown)
        await daemon._begin()
        return daemon

    @property
    def schedule(self) -> Schedule:
        """Polls the targets; a reload replaces it."""
        return self.polling.schedule

    async def _begin(self) -> None:
        self._declare()
        self._warn(exposed(self.settings))
        self._note_loaded()
        self.schedule.start()
        await self.renderer.render()
        explainer, telemetry, monotonic = self._explainer(), self.telemetry, self.clocks.monotonic
        works = {
            "renderer": self.renderer.run(),
            "cleaning": _repeated(CLEANED_EVERY_SECONDS, self.polling.forget_removed),
            "budgets": _repeated(BUDGETS_EVERY_SECONDS, self.polling.budgets.show),
            "lists": _repeated(SAVED_EVERY_SECONDS, self.polling.save_lists),
            "absences": _repeated(ABSENCES_EVERY_SECONDS, lambda: telemetry.show_absent(explainer.counts())),
            "loop lag": runtime.watch_lag(telemetry.loop_lag.observe, monotonic),
        }
        for name, work in works.items():
            self._begin_task(work, name)
        prefix, database = self.settings.web.route_prefix, self.shards.database
        app = create_app(self._view(explainer), self.renderer, self.reload, database, route_prefix=prefix)
        await self.server.start(app, prefix)
        if database is not None and self.shards.share.may_change:
            database.leases.start()
        self._log.info("serving", url=self.server.url + prefix.rstrip("/") + "/metrics")

    def _begin_task(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Start a task that runs until it ends or the daemon stops, and log it if it fails."""

        def ended(task: asyncio.Task[object]) -> None:
            self._tasks.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._log.error("background task failed", work=name, error=repr(error), exc_info=error)

        task: asyncio.Task[object] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(ended)

    async def stop(self) -> None:
        """Stop polling and serving, and commit the counters."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.schedule.stop()
        self.polling.save_lists()
        await self.ledger.close()
        await self.server.stop()
        await self.polling.accounts.close()
        self._parsing.shutdown(wait=False, cancel_futures=True)

    def reload_soon(self) -> None:
        """Begin a reload, in the background."""
        self._begin_task(self.reload(), "reload")

    async def reload(self) -> tuple[str, ...]:
        """Read the settings again and apply all of them, or none.

        Returns:
            The faults for which they were refused; none if they are in force.
        """
        async with self._reloading:
            self.renderer.be_eager()
            try:
                loaded = await asyncio.to_thread(self.load)
                shown = await asyncio.to_thread(lambda: list(exposed(loaded)))
                running = {name: getattr(self.settings, name) for name in ("web", "state", "shard")}
                # What needs a restart stays as it runs, for the budgets of shards and for later comparisons.
                settings = loaded.model_copy(update=running)
                accounts = self.polling.accounts.build(settings)
                # The last step that can be refused: a wrong file changes nothing, not even the web configuration.
                if loaded.web.config_file == self.settings.web.config_file:
                    await self.server.reload()
                if fixed := [name for name, section in running.items() if getattr(loaded, name) != section]:
                    self._log.warning("restart needed: changed settings are not applied", sections=fixed)
                await self._take_over(settings, accounts)
                self._warn(shown)
            except ConfigurationError as error:
                self._refuse(map(str, error.faults))
            except OSError as error:
                self._refuse([f"{error.filename or 'a file'}: {error.strerror or error}"])
            except BaseException:
                self.telemetry.reload_successful.set(0)
                raise
            # A scrape after the answer to a reload must show its result.
            await self.renderer.render()
            return self._config_faults

    async def _take_over(self, settings: Settings, accounts: Mapping[str, Account]) -> None:
        former = self.schedule
        exposition, on_thread = self.renderer.exposition, self.renderer.on_thread
        plans = await asyncio.to_thread(from_settings.plans, settings)
        await on_thread(exposition.declare, _all_families(plans), settings.series.serves)
        await former.stop()
        # There is no await from here to the end of the change: a scrape or a page shows either the old or the new
        # state.
        self.settings = settings
        configure(settings.log.level, settings.log.format)
        self.shards.configure(settings)
        self.polling.replace(settings, accounts, plans)
        self._declare()
        self._note_loaded()
        self.schedule.start()
        await self.polling.accounts.leave(former.accounts)
        self._log.info("configuration loaded")

    def _declare(self) -> None:
        """Start the series of all counters, and keep connections free for the calls of all accounts."""
        self.telemetry.declare_counters(_all_families(self.schedule.plans.values()))
        self.server.leave_room(sum(one.client.rate_limiter.most_in_flight for one in self.schedule.accounts.values()))

    def _note_loaded(self) -> None:
        self._config_loaded = self.clocks.wall()
        self._config_faults = ()
        self.telemetry.reload_successful.set(1)
        self.telemetry.reload_success_time.set(self._config_loaded)

    def _refuse(self, faults: Iterable[str]) -> None:
        self._config_faults = tuple(faults)
        self.telemetry.reload_successful.set(0)
        self._log.error("configuration refused, the old one stays in force", faults=list(self._config_faults))

    def _warn(self, shown: Iterable[tuple[KeyPath, str]]) -> None:
        for path, message in shown:
            self._log.warning("credential is exposed", setting=written(path), reason=message)
        for path, message in misnamed(self.settings.endpoints):
            self._log.warning("metric is named against the conventions", setting=written(path), reason=message)

    def hold_soon(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        """Begin to poll and serve the targets of other shards, as `Polling.hold` does, in the background."""
        self._begin_task(self._hold(epochs, rows), "shards")

    async def _hold(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        async with self._reloading:
            await self.polling.hold(epochs, rows, self.renderer.render)

    def _explainer(self) -> Explainer:
        return Explainer(
            settings=lambda: self.settings,
            collectors=lambda: from_settings.collectors(self.settings),
            registry=self.shards.registry,
            store=self.polling.store,
            ledger_fault=lambda: self.ledger.fault,
        )

    def _view(self, explainer: Explainer) -> View:
        telemetry, database = self.telemetry, self.shards.database
        return View(
            store=self.polling.store,
            registry=self.shards.registry,
            schedule=lambda: self.schedule,
            account_up=self.polling.accounts.up,
            is_authenticated=self.polling.accounts.is_authenticated,
            ledger=lambda: LedgerView(
                durable=self.settings.state.is_durable, saves=telemetry.ledger_saves, set_aside=telemetry.set_aside_at
            ),
            explainer=explainer,
            ledger_alive=self.ledger.is_alive,
            renderer_alive=self.renderer.is_alive,
            series=lambda: self.renderer.current.series,
            config=lambda: (self._config_loaded, self._config_faults),
            unmatched_budgets=lambda: self.polling.budgets.unmatched,
            clocks=self.clocks,
            version=__version__,
            blocked=self.shards.waits,
            leases=None if database is None else database.leases,
            started=self._config_loaded,
        )


async def run(
    settings: Settings, load: Callable[[], Settings], started: Callable[[Daemon], None] = lambda _daemon: None
) -> None:
    """Start the exporter, call `started`, and serve until SIGTERM or SIGINT.

    It owns the process: this sets the handlers of signals and the tuning of threads.
    """
    runtime.share()
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    # There is nothing to reload before the start has ended.
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    daemon = await Daemon.start(settings, load, ending=ending, grown=runtime.settle)
    loop.add_signal_handler(signal.SIGHUP, daemon.reload_soon)
    started(daemon)
    try:
        await ending.wait()
    finally:
        logger().info("stopping")
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await daemon.stop()
    if daemon.shards.is_lost:
        # The other process has counted since, so this one's state is too old, and it must start again.
        raise LeaseLostError(f"another exporter has taken this one's shard in {daemon.shards.storage.location}")


async def _repeated(seconds: float, work: Callable[[], Awaitable[object] | None]) -> None:
    """Do work again and again, each time after a number of seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        if (doing := work()) is not None:
            await doing


def _all_families(plans: Iterable[Plan]) -> list[FamilyInfo]:
    return [*families([plan.collector for plan in plans]), *HEALTH]
