"""The daemon: builds and connects the parts of the exporter, and starts, reloads and stops them."""

import asyncio
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from exporter import __version__
from exporter.blocking import blocking
from exporter.counters.storage import MemoryStorage, Storage, StorageError
from exporter.daemon import event_loop
from exporter.daemon.accounts import TRY_KEYS_SECONDS
from exporter.daemon.machine import REAL, Machine
from exporter.daemon.tasks import Tasks
from exporter.daemon.work import Work
from exporter.log import configure, logger
from exporter.settings.model import Settings
from exporter.targets.sharding import Shard
from exporter.telemetry import Telemetry
from exporter.validation.configuration_errors import ConfigurationError
from exporter.web.app import create_app
from exporter.web.parts import Process
from exporter.web.server import WebServer
from exporter.wiring.state_storage import postgres_storage

if TYPE_CHECKING:
    # Needs the PostgreSQL driver, which is an optional extra.
    from exporter.counters.postgres_storage import PostgresStorage

# The time limit of a stop, in seconds. The help of `run` promises an end within five seconds.
STOP_SECONDS = 4.5
# The longest time that a reload reads files. Taking a shard waits for the end of a reload, and a file system may hang.
LOAD_SECONDS = 30.0
# The seconds between two attempts to take a shard; a fifth of the lease if that is shorter, so that a free shard is
# taken soon.
SEEK_SECONDS = 3.0


@dataclass(eq=False, repr=False)
class Daemon:
    """The running exporter; `start` creates it.

    It polls one shard, or is a spare, which waits for a free shard. When the process takes or loses a shard, `work` is
    replaced as a whole.

    Attributes:
        settings: the settings that are in force.
        load: reads the settings again, for a reload.
        database: the storage of the state if the state is in PostgreSQL, else None.
    """

    settings: Settings
    load: Callable[[], Settings]
    machine: Machine
    telemetry: Telemetry
    server: WebServer
    database: "PostgresStorage | None" = None
    work: Work = field(init=False)
    _tasks: Tasks = field(init=False)
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _configuration: Executor = field(init=False)
    _started: float = field(init=False)
    _config_loaded: float = 0.0
    _config_faults: tuple[str, ...] = ()
    # The error of the last attempt to take a shard; empty if the state database has answered.
    _database_fault: str = ""
    # Whether `Accounts.try_keys` has returned True, while this process was a spare.
    _is_proven: bool = False
    _was_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _log: FilteringBoundLogger = field(default_factory=logger)

    def __post_init__(self) -> None:
        self._started = self.machine.clocks.wall()
        self._tasks = Tasks(self.telemetry.task_failures, self.machine.clocks)
        self._configuration = self.machine.executors("configuration")

    @classmethod
    async def start(cls, settings: Settings, load: Callable[[], Settings], machine: Machine = REAL) -> Self:
        """Return a started daemon, with the arguments as the attributes `settings`, `load` and `machine`.

        Raises:
            StateLockedError: another process has the state file.
            ListenError: the address cannot be used.
            ConfigurationError: the web configuration file, the path of the state or a proxy cannot be used.
            TlsSettingError: a certificate or key of the web configuration has become unusable since the check.
        """
        server = machine.listen(settings.web, machine.executors)
        telemetry = Telemetry(CollectorRegistry(), __version__)
        daemon = cls(settings, load, machine, telemetry, server)
        daemon._note_loaded()
        try:
            await daemon._start_first_work()
        except BaseException:
            # Free the address on which the server listens.
            await server.stop()
            raise
        prefix = settings.web.route_prefix
        app = create_app(lambda: daemon.work.parts, daemon.reload, route_prefix=prefix)
        server.start(app, prefix, app.ready)
        daemon._log.info("serving", url=server.url + prefix.rstrip("/") + "/metrics")
        return daemon

    async def _start_first_work(self) -> None:
        own_shard = self.settings.own_shard()
        # Only a state database assigns shards, so the shard is None only if the state is shared.
        if self.settings.state.is_shared or own_shard is None:
            await self._start_with_claimed_shard()
        else:
            await self._start_with_own_shard(own_shard)

    async def _start_with_own_shard(self, shard: Shard) -> None:
        machine = self.machine
        executor, set_aside = machine.executors("state"), self.telemetry.record_set_aside
        await self._start_work(shard, machine.open_storage(self.settings.state, machine.clocks, set_aside, executor))
        self.telemetry.show(self.telemetry.shard_held, {(str(shard.index),): 1})

    async def _start_with_claimed_shard(self) -> None:
        self.database = database = postgres_storage(self.settings)
        shard = await self._claim(database)
        if shard is not None:
            await self._start_work(shard, database)
        else:
            await self._start_spare()
            self._log.info("waiting for a shard", reason=self.why_spare())
        seconds = min(SEEK_SECONDS, self.settings.state.lease / 5)
        self._tasks.repeat("shard", seconds, partial(self._keep_or_seek_shard, database))

    async def _keep_or_seek_shard(self, database: "PostgresStorage") -> None:
        if self._has_shard():
            self._show_held(database)
            return
        async with self._reloading:
            if self.work.ledger.is_taken:
                await self._give_up_lost_shard()
            shard = await self._claim(database)
            if shard is not None:
                spare = self.work
                await self._start_work(shard, database)
                # The spare is stopped last: if the start of the new work fails, the spare goes on.
                await spare.stop()

    async def _give_up_lost_shard(self) -> None:
        # The lost shard's counters may be outdated; the rows are read again when a shard is taken.
        lost, reason = self.work.shard.index, self.work.ledger.fault
        self._log.error("shard lost, waiting for a free one", shard=lost, reason=reason)
        await self.work.stop()
        await self._start_spare()

    async def _start_spare(self) -> None:
        await self._start_work(Shard(None, self.settings.shard.total), MemoryStorage())
        # Polls would show whether the keys are accepted, but a spare has none.
        self.work.tasks.begin("proof", self._prove_keys())

    def _show_held(self, database: "PostgresStorage") -> None:
        held, shards = database.locks.held, range(self.settings.shard.total)
        values = {} if held is None else {(str(shard),): shard in held for shard in shards}
        self.telemetry.show(self.telemetry.shard_held, values)

    async def _claim(self, database: "PostgresStorage") -> Shard | None:
        try:
            index = await database.claim()
            self._database_fault = ""
        except StorageError as error:
            if not self._database_fault:
                self._log.error("state database not usable, no shard can be taken", error=str(error))
            self._database_fault = str(error)
            index = None
        self._show_held(database)
        if index is None:
            return None
        shard = Shard(index, self.settings.shard.total)
        self._log.info("shard taken", shard=shard.index, shards=shard.total)
        return shard

    def _has_shard(self) -> bool:
        return self.work.shard.index is not None and not self.work.ledger.is_taken

    def why_spare(self) -> str:
        """Return why this process polls no shard; empty if it polls one."""
        if self.database is None or self._has_shard():
            return ""
        if self._database_fault:
            return f"spare: the state database cannot be used: {self._database_fault}"
        return f"spare: {self.database.obstacle or 'a free shard is looked for'}"

    def _missing_answer(self) -> str:
        """Return which answer has not come yet since the start, as text; empty if none is missing."""
        if self.database is not None and not self.database.has_answered:
            return "the state database has not answered yet"
        is_accepted = self._is_proven or self.work.accounts.is_authenticated()
        return "" if is_accepted else "no platform has answered an authenticated call yet"

    async def _prove_keys(self) -> None:
        while not await self.work.accounts.try_keys():
            await self.machine.clocks.sleep(TRY_KEYS_SECONDS)
        self._is_proven = True

    async def _start_work(self, shard: Shard, storage: Storage) -> None:
        work = Work(self.settings, shard, storage, self.telemetry, self.machine, process=self._process)
        try:
            await work.start()
        except BaseException:
            # Closing the storage frees the shard, for the next round or for another exporter.
            await work.stop()
            raise
        self.work = work
        self._limit_clients()

    async def stop(self) -> None:
        """Stop polling, try to commit the counters, and stop serving."""
        await self._tasks.cancel()
        await self.work.stop()
        if self.database is not None:
            await self.database.close()
        await self.server.stop()

    def reload_soon(self) -> None:
        """Begin a reload, in the background."""
        self._tasks.begin("reload", self.reload())

    async def reload(self) -> tuple[str, ...]:
        """Read the settings again, and apply those that need no restart. If there is a fault, apply nothing.

        Returns:
            The faults because of which nothing was applied; empty after a success.
        """
        async with self._reloading:
            try:
                await self._load_and_apply()
            except ConfigurationError as error:
                self._refuse(map(str, error.faults))
            except TimeoutError:
                self._refuse([f"the configuration was not read within {LOAD_SECONDS:g} s"])
            except BaseException:
                self.telemetry.reload_successful.set(0)
                raise
            # A scrape after the answer to a reload must show the result of the reload.
            await self.work.renderer.render()
            return self._config_faults

    async def _load_and_apply(self) -> None:
        async with asyncio.timeout(LOAD_SECONDS):
            loaded = await blocking(self._configuration, self.load)
            kept = {name: getattr(self.settings, name) for name in ("web", "state", "shard")}
            # Changes of these sections need a restart. `build` must not use them: it divides budgets by `shard.total`.
            settings = loaded.model_copy(update=kept)
            accounts = self.work.accounts.build(settings)
            # A changed path needs a restart. Then the file in use is not read again, because it may be gone.
            is_same_web_file = loaded.web.config_file == self.settings.web.config_file
            if is_same_web_file:
                # After the other steps that may find a fault, because this step also applies the web configuration.
                await self.server.reload()
        not_applied = [name for name, section in kept.items() if getattr(loaded, name) != section]
        if not_applied:
            self._log.warning("restart needed: changed settings are not applied", sections=not_applied)
        await self.work.apply(settings, accounts)
        self.settings = settings
        configure(settings.log.level, settings.log.format)
        self._limit_clients()
        self._note_loaded()
        self._log.info("configuration loaded")

    def _limit_clients(self) -> None:
        accounts = self.work.schedule.accounts.values()
        self.server.limit_clients(sum(one.client.rate_limiter.max_in_flight for one in accounts))

    def _note_loaded(self) -> None:
        self._config_loaded = self.machine.clocks.wall()
        self._config_faults = ()
        self.telemetry.reload_successful.set(1)
        self.telemetry.reload_success_time.set(self._config_loaded)

    def _refuse(self, faults: Iterable[str]) -> None:
        self._config_faults = tuple(faults)
        self.telemetry.reload_successful.set(0)
        self._log.error("configuration refused, the old one stays in force", faults=list(self._config_faults))

    def _process(self) -> Process:
        return Process(
            started=self._started,
            config_loaded=self._config_loaded,
            config_faults=self._config_faults,
            set_aside=self.telemetry.set_aside_at,
            spare=self.why_spare(),
            unproven=self._missing_answer(),
            was_ready=self._was_ready,
            account_up=self.work.accounts.up_by_account(),
            rounds=self.work.tasks.rounds,
            dashboard_url=self.settings.dashboard_url,
        )


async def run(settings: Settings, load: Callable[[], Settings], started: Callable[[Daemon], None]) -> None:
    """Start the exporter, call `started`, and serve until SIGTERM or SIGINT; raises what `Daemon.start` raises.

    Changes the whole process: the handlers of signals, the switch interval of threads, and garbage collection.
    """
    event_loop.tune()
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    # A SIGHUP during the start causes a reload after the start. Until here, SIGHUP was blocked by `__main__`.
    reload_requested = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, reload_requested.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    daemon = await Daemon.start(settings, load)
    freezing = asyncio.create_task(event_loop.freeze_growth(lambda: daemon.work.renderer.current.series))
    loop.add_signal_handler(signal.SIGHUP, daemon.reload_soon)
    started(daemon)
    if reload_requested.is_set():
        daemon.reload_soon()
    try:
        await ending.wait()
    finally:
        logger().info("stopping")
        freezing.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await daemon.stop()
