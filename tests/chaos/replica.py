"""A replica in a separate process, with its own proxy to the database."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.proxy import Proxy
from tests.chaos.witness import Answer, Samples
from tests.counters.process import Exporter

# The counters of the platform's targets: those that must be exact.
NOT_COMPARED = ("edge_api_", "edge_exporter_")


class Replica:
    """An exporter that may be killed, suspended, cut off and started again.

    Args:
        settings: its configuration, without the database's address.
        folder: its own folder.
        proxy: its connection to the database.
        url: the database's address through that proxy; empty if it uses none.
    """

    def __init__(self, settings: Mapping[str, Any], folder: Path, proxy: Proxy, url: str = "") -> None:
        self.proxy = proxy
        self.is_suspended = False
        self._settings = settings
        self._folder = folder
        self._url = url
        self._process: Exporter | None = None
        self._pending: asyncio.Task[Answer] | None = None

    @property
    def address(self) -> str:
        """The host and port of its process; empty if it has ended."""
        return "" if self._process is None else self._process.url.removeprefix("http://")

    @property
    def name(self) -> str:
        """The unique name of the process."""
        return f"{self._folder.name}/{self._process.pid if self._process is not None else 'ended'}"

    async def start(self) -> None:
        """Start its process, and wait until it serves."""
        self._process = await asyncio.to_thread(Exporter, self._settings, self._folder, database=self._url)

    async def end(self, number: signal.Signals) -> None:
        """End its process."""
        process, self._process = self._process, None
        if process is not None:
            # What it has logged so far tells of a failure of this test.
            await asyncio.to_thread(process.end, number)
            with (self._folder / "log").open("a") as log:
                log.writelines(f"{entry}\n" for entry in process.logs)

    def suspend(self) -> None:
        """Suspend its process."""
        assert self._process is not None
        self.is_suspended = True
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume its process."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)
        self.is_suspended = False

    async def scrape(self, client: httpx.AsyncClient, patience: float) -> Answer | None:
        """Return its served metrics; None if no answer comes in time.

        A request that a suspended process does not answer stays open; its answer is returned when it comes.
        """
        if self._process is None:
            if self._pending is not None:
                self._pending.cancel()
                self._pending = None
            return None
        if self._pending is None:
            self._pending = asyncio.create_task(self._asked(client, f"{self._process.url}/metrics"))
        done, _ = await asyncio.wait([self._pending], timeout=patience)
        if not done:
            return None
        answered, self._pending = self._pending, None
        try:
            return answered.result()
        except httpx.HTTPError:
            return None

    async def _asked(self, client: httpx.AsyncClient, url: str) -> Answer:
        name, asked = self.name, time.monotonic()
        text = (await client.get(url, timeout=None)).text
        received = time.monotonic()
        counters, own = await asyncio.to_thread(parsed, text)
        return Answer(name, asked, received, counters, own)


def parsed(text: str) -> tuple[Samples, Samples]:
    """Return the counters of targets in an exposition, and the program's own samples."""
    counters, own = Samples(), Samples()
    for line in text.splitlines():
        series, _, value = line.rpartition(" ")
        if series.startswith("edge_exporter_"):
            own[series] = float(value)
        elif series.startswith("edge_") and not series.startswith(NOT_COMPARED) and "_total{" in series:
            counters[series] = float(value)
    return counters, own
