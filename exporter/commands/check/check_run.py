"""Polls every target of a configuration once, as the daemon would, and collects the results."""

import asyncio

from exporter.clock import Clocks
from exporter.commands.check.check_account import AccountCheck, Progress
from exporter.commands.check.results import AccountResult, configured_registry, load_of
from exporter.platform.http.client import Observer
from exporter.polling.intervals import Capacity
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of


class _Stopwatch(Observer):
    """Measures how long each answer takes."""

    def __init__(self) -> None:
        self.answers = 0
        self.seconds = 0.0

    def attempted(self, _operation: str, code: str, seconds: float, _reason: str | None) -> None:
        """Count an answer and its seconds."""
        if code != "none":
            self.answers += 1
            self.seconds += seconds


class CheckRun:
    """Checks a configuration against the platform.

    Args:
        settings: the configuration.
        clocks: the clocks.
        progressed: receives an account's name, how many of its polls have ended, and how many there are.
    """

    def __init__(self, settings: Settings, clocks: Clocks, progressed: Progress) -> None:
        self._settings = settings
        self._clocks = clocks
        self._progressed = progressed
        self._plans = from_settings.plans(settings)
        self._registry = configured_registry(settings)

    async def run(self) -> list[AccountResult]:
        """Check all accounts and databases at once, each within its budget."""
        works = [self._of(name, asked) for name, asked in from_settings.named(self._settings).items()]
        return list(await asyncio.gather(*works))

    async def _of(self, name: str, asked: AccountSettings | DatabaseSettings) -> AccountResult:
        stopwatch = _Stopwatch()
        client = client_of(asked, stopwatch, self._settings.shard.parts)
        check = AccountCheck(
            name,
            client,
            timeout=asked.timeout,
            registry=self._registry,
            clocks=self._clocks,
            progressed=self._progressed,
        )
        try:
            barrier = await check.make(self._plans)
        finally:
            await client.aclose()
        seconds = stopwatch.seconds / stopwatch.answers if stopwatch.answers else 0.0
        capacity = Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight, seconds, check.calls)
        return AccountResult(
            name,
            tuple(check.tried),
            load_of(self._plans, self._registry, name, capacity),
            barrier,
            check.untried,
            check.lists,
            check.unnamed,
        )
