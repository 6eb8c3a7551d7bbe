"""Follows one zone's polls, and the scrapes of the exporter, through the package: which files and functions run."""

import asyncio
import sys
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import exporter
from exporter.daemon.daemon import Daemon
from exporter.settings.loading import load
from exporter.settings.model import Settings
from tests.polling.platform import Platform, running

PACKAGE = f"{Path(exporter.__file__).parent}/"
POLLS = 16
# The task or thread in which a function runs → the part of the way that it belongs to.
PARTS = {
    "run_coroutine_job": "poll",
    "poll": "poll",
    "count": "poll",
    "ledger": "poll",
    "state": "poll",
    "render": "render",
}


class Growing(Platform):
    """A platform on which every answer differs from the one before."""

    def answer(self, target: str, body: bytes) -> object:
        """Return a chart whose newest day has grown."""
        if not target.endswith("/statistics"):
            return super().answer(target, body)
        count = len(self.seen)
        days = {f"{datetime.now(UTC):%Y-%m-%d}T00:00:00Z": count}
        charts = ("QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart")
        return {"TotalQueriesServed": count, **dict.fromkeys(charts, days), "QueriesByTypeChart": {"1": count}}


class Way:
    """Records the functions of the package that run: part → file → their names."""

    def __init__(self) -> None:
        self.parts: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Record what runs on this thread; threads that were started with `threading.setprofile` record, too."""
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call, as a profile function does."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            self.parts[_part()][code.co_filename.removeprefix(PACKAGE)].add(f"{code.co_qualname}:{code.co_firstlineno}")


def _part() -> str:
    thread = threading.current_thread()
    if thread is not threading.main_thread():
        return PARTS.get(thread.name.partition("_")[0], "scrape and the rest")
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    names = (task.get_name(), getattr(task.get_coro(), "__name__", "")) if task is not None else ()
    return next((PARTS[name] for name in names if name in PARTS), "scrape and the rest")


def loading(folder: Path) -> set[str]:
    """Load settings from a file, the environment and flags; return the files of the package that run."""
    file = folder / "edge.yml"
    file.write_text("accounts: [{name: main, base_url: 'https://api.example.net', api_key: a-key}]\n")
    way = Way()
    with way.followed():
        load(file, {"--log.level": "error"}, {"EDGE_EXPORTER_SHARD__TOTAL": "2"})
    return {name for files in way.parts.values() for name in files}


async def follow(polls: int, folder: Path) -> Mapping[str, Mapping[str, set[str]]]:
    """Poll one zone a number of times, and scrape each second; return part → file → functions, without the start."""
    way = Way()
    is_on = False
    threading.setprofile(lambda *event: way.note(*event) if is_on else None)
    off = {"discover": False}
    with running(Growing(zones=range(1, 2))) as platform:
        account = {"name": "main", "base_url": platform.url, "api_key": "k" * 20, "scripts": off, "shield_zones": off}
        account["dns_zones"] = {**off, "ids": [1]}
        disabled = {name: {"enabled": False} for name in ("dns_record_scans", "discovery")}
        only = {"dns_statistics": {"interval": 1}, **disabled}
        web, state, log = {"listen": "127.0.0.1:0"}, {"path": folder / "state.db"}, {"level": "error"}
        given = {"accounts": [account], "collectors": only, "web": web, "state": state, "log": log}
        settings = Settings.model_validate(given)
        daemon = await Daemon.start(settings, lambda: settings)
        threading.setprofile(None)
        await _scrape(daemon, platform, 3)
        is_on = True
        with way.followed():
            await _scrape(daemon, platform, polls)
        is_on = False
        await daemon.stop()
    return way.parts


async def _scrape(daemon: Daemon, platform: Platform, polls: int) -> None:
    asked = len(platform.seen) + polls
    request = urllib.request.Request(f"{daemon.server.url}/metrics")  # noqa: S310 - loopback
    while len(platform.seen) < asked:
        await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=30).read())  # noqa: S310
        await asyncio.sleep(1)
