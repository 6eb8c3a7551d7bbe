"""The daemon: builds and connects all parts, and starts, reloads and stops them."""

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry

from exporter import __version__
from exporter.clock import SYSTEM, Clocks
from exporter.collectors.catalogue import families
from exporter.counters.rows import StateRow
from exporter.counters.storage import LeaseLostError, StateLockedError
from exporter.daemon.background import Background
from exporter.daemon.polling import Polling
from exporter.daemon.shards import Shards
from exporter.explain.candidates import Sources
from exporter.explain.explainer import Explainer, keep_counting
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.status_board import HEALTH
from exporter.log import configure, logger
from exporter.metric import FamilyInfo
from exporter.polling.intervals import Account, Plan
from exporter.polling.scheduler import Schedule
from exporter.responsive import runtime
from exporter.responsive.event_loop import watch_lag
from exporter.settings.endpoint_names import misnamed
from exporter.settings.exposure import exposed
from exporter.settings.model import Settings
from exporter.targets.target import PollKey
from exporter.telemetry import Telemetry
from exporter.validation.faults import ConfigurationError, KeyPath, written
from exporter.web.app import create_app
from exporter.web.server import WebServer
from exporter.web.status import View
from exporter.web.status_models import LedgerView
from exporter.wiring import from_settings

STOP_SECONDS = 4.5
CLEANING_SECONDS = 3600.0
# At the start, a lease that another process holds is tried at this interval, for this many lengths of a lease.
HELD_SECONDS = 1.0
LEASES_AWAITED = 1.3


class Daemon:
    """The exporter.

    Args:
        settings: the configuration.
        load: reads the settings again, for a reload.
        clocks: the clocks.

    Attributes:
        server: serves the endpoints, once it has started.
        ledger: counts polls, and stores the counters.
        renderer: renders the exposition.
    """

    def __init__(self, settings: Settings, load: Callable[[], Settings], clocks: Clocks = SYSTEM) -> None:
        self.settings = settings
        self._load = load
        self._clocks = clocks
        self._log = logger()
        self._telemetry = Telemetry(CollectorRegistry(), __version__)
        self._ending = asyncio.Event()
        self._call_soon: Callable[..., object]
        self._shards = Shards(
            settings,
            self._telemetry,
            self._clocks,
            held=self._hold_soon,
            lost=lambda: self._call_soon(self._ending.set),
        )
        self.ledger = self._shards.ledger
        self._background = Background()
        self._reloading = asyncio.Lock()
        self._config_faults: tuple[str, ...] = ()
        self._polling: Polling
        self._grown: Callable[[], None] = lambda: None
        self._config_loaded = self._clocks.wall()
        self.renderer: Renderer
        self._explainer: Explainer
        self.server: WebServer

    @property
    def state_location(self) -> str | None:
        """The location of the counters' state, without a password; None for memory, where counters start at 0."""
        return self._shards.storage.location or None

    @property
    def schedule(self) -> Schedule:
        """Polls the targets; a reload replaces it."""
        return self._polling.schedule

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
        if self._shards.is_lost:
            # The other process has counted since, so this one's state is too old, and it must start again.
            raise LeaseLostError(f"another exporter has taken this one's shard in {self._shards.storage.location}")

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
        loop = asyncio.get_running_loop()
        self._call_soon = loop.call_soon_threadsafe
        try:
            await self._open_ledger()
        except StateLockedError:
            await self.server.stop()
            raise
        self._shards.take_in(dict(self.ledger.remembered()))
        self._polling = Polling(self._shards, self._telemetry, self._clocks)
        self._polling.begin(self.settings)
        self.renderer = self._build_renderer()
        self._declare()
        self._warn(exposed(self.settings))
        self._note_loaded()
        self.schedule.start()
        await self.renderer.render()
        self._background.begin(self.renderer.run(), "renderer")
        self._background.begin(self._clean(), "cleaning")
        self._background.begin(self._polling.budgets.keep_showing(), "budgets")
        self._background.begin(self._polling.keep_saving(), "lists")
        self._explainer = self._build_explainer()
        self._background.begin(
            keep_counting(self._explainer, self._telemetry.show_absent, self._clocks.monotonic), "absence counting"
        )
        self._background.begin(watch_lag(self._telemetry.loop_lag.observe, self._clocks.monotonic), "loop lag")
        prefix = self.settings.web.route_prefix
        app = create_app(self._view(), self.renderer, self.reload, self._shards.database, route_prefix=prefix)
        await self.server.start(app, prefix)
        if self._shards.database is not None and self._shards.share.may_change:
            self._shards.database.leases.start()
        self._log.info("serving", url=self.server.url + prefix.rstrip("/") + "/metrics")

    async def _open_ledger(self) -> None:
        """Open the ledger; wait for a lease that another process left, so that names are known."""
        ends = self._clocks.monotonic() + self.settings.state.lease * LEASES_AWAITED
        while not await asyncio.to_thread(
            self.ledger.open, may_wait=self._clocks.monotonic() < ends and not self._ending.is_set()
        ):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), HELD_SECONDS)

    async def stop(self) -> None:
        """Stop polling and serving, and commit the counters."""
        await self._background.stop()
        await self.schedule.stop()
        await self._polling.save_lists()
        await asyncio.to_thread(self.ledger.close)
        await self.schedule.end()
        await self.server.stop()
        await self._polling.accounts.close()
        self.renderer.close()

    def _reload_soon(self) -> None:
        self._background.begin(self.reload(), "reload")

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
                accounts = self._polling.accounts.build(settings)
                # The last step that can be refused: a wrong file changes nothing, not even the web configuration.
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

    async def _take_over(self, settings: Settings, accounts: Mapping[str, Account]) -> None:
        fixed = [name for name in ("web", "state", "shard") if getattr(settings, name) != getattr(self.settings, name)]
        if fixed:
            self._log.warning("restart needed: changed settings are not applied", sections=fixed)
        former = self.schedule
        series = settings.series
        exposition, on_thread = self.renderer.exposition, self.renderer.on_thread
        await on_thread(exposition.govern, series.max_per_family, series.serves, created=series.created)
        plans = await asyncio.to_thread(from_settings.plans, settings)
        await on_thread(exposition.declare, _all_families(plans))
        await former.stop()
        # There is no await from here to the end of the change: a scrape or a page shows either the old or the new
        # state.
        self.settings = settings
        configure(settings.log.level, settings.log.format)
        self._shards.configure(settings)
        self._polling.replace(settings, accounts, plans)
        self._declare()
        self._note_loaded()
        self.schedule.start()
        await self._polling.accounts.leave(former.accounts)
        self._log.info("configuration loaded")

    def _declare(self) -> None:
        """Start the series of all counters, and keep connections free for the calls of all accounts."""
        self._telemetry.declare_counters(_all_families(self.schedule.plans.values()))
        self.server.leave_room(self._polling.accounts.calls_at_once())

    def _note_loaded(self) -> None:
        self._config_loaded = self._clocks.wall()
        self._config_faults = ()
        self._telemetry.reload_successful.set(1)
        self._telemetry.reload_success_time.set(self._config_loaded)

    def _refuse(self, faults: Iterable[str]) -> None:
        self._config_faults = tuple(faults)
        self._telemetry.reload_successful.set(0)
        self._log.error("configuration refused, the old one stays in force", faults=list(self._config_faults))

    def _warn(self, shown: Iterable[tuple[KeyPath, str]]) -> None:
        for path, message in shown:
            self._log.warning("credential is exposed", setting=written(path), reason=message)
        for path, message in misnamed(self.settings.endpoints):
            self._log.warning("metric is named against the conventions", setting=written(path), reason=message)

    def _hold_soon(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        self._call_soon(lambda: self._background.begin(self._hold(epochs, rows), "shards"))

    async def _hold(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        async with self._reloading:
            await self._polling.hold(epochs, rows, self.renderer.render)

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEANING_SECONDS)
            self.forget_removed()

    def forget_removed(self) -> None:
        """Delete the counters of targets that have not been polled for longer than their retention."""
        self._polling.forget_removed(self.settings.state.retention)

    def _build_renderer(self) -> Renderer:
        series = self.settings.series
        exposition = Exposition(
            self._telemetry.exposed(), cap=series.max_per_family, admits=series.serves, created=series.created
        )
        exposition.declare(_all_families(self.schedule.plans.values()))
        return Renderer(exposition, self._polling.store, self._telemetry, self._clocks.monotonic, grown=self._grown)

    def _build_explainer(self) -> Explainer:
        sources = Sources(
            scope=lambda: self._polling.scope,
            registry=self._shards.registry,
            board=self._polling.store.board,
            schedule=lambda: self.schedule,
            is_capped=self.renderer.exposition.is_capped,
            accepted=self._polling.accounts.accepted,
            ledger_fault=lambda: self.ledger.fault,
            holders=self._shards.holders,
            waits=self._shards.waits,
            clocks=self._clocks,
        )
        return Explainer(sources)

    def _view(self) -> View:
        return View(
            board=self._polling.store.board,
            registry=self._shards.registry,
            schedule=lambda: self.schedule,
            account_up=self._polling.accounts.up,
            is_authenticated=self._polling.accounts.is_authenticated,
            ledger=self._ledger_view,
            explainer=self._explainer,
            ledger_alive=self.ledger.is_alive,
            renderer_alive=self.renderer.is_alive,
            series=lambda: self.renderer.current.series,
            config=lambda: (self._config_loaded, self._config_faults),
            unmatched_budgets=lambda: self._polling.budgets.unmatched,
            clocks=self._clocks,
            version=__version__,
            blocked=self._shards.waits,
            leases=None if self._shards.database is None else self._shards.database.leases,
            started=self._config_loaded,
        )

    def _ledger_view(self) -> LedgerView:
        return LedgerView(
            durable=self.settings.state.is_durable,
            saves=self._telemetry.ledger_saves,
            set_aside=self._telemetry.set_aside_at,
        )


def _all_families(plans: Iterable[Plan]) -> list[FamilyInfo]:
    return [*families([plan.collector for plan in plans]), *HEALTH]
