"""Runs a real Prometheus together with the demo, with the shipped configuration and rules."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from exporter.assets.shipped import find_folder

HOST = "127.0.0.1"
PROGRAM = "prometheus"
START_SECONDS = 30.0
STOP_SECONDS = 3.0
POLL_SECONDS = 0.05
# Parts of the shipped configuration, and their replacements in the demo: one exporter, and short intervals, so that
# something is visible within a minute. The rules are the shipped ones, unchanged.
_TARGET = "127.0.0.1:9877"
_RULES = "rules/*.yml"
_PACE = (("scrape_interval: 30s", "scrape_interval: 5s"), ("scrape_timeout: 10s", "scrape_timeout: 5s"))
_LISTENING = re.compile(r"Listening on.*address=(\S+:\d+)")
_READY = "ready to receive web requests"


class PrometheusError(Exception):
    """Prometheus cannot run together with the demo; the message says why, and what to do."""


def configuration(folder: Path, target: str) -> str:
    """Return the shipped configuration, changed to scrape one exporter."""
    text = (folder / "prometheus.yml").read_text(encoding="utf-8")
    for shipped, ours in ((_TARGET, target), (_RULES, f"{folder}/{_RULES}"), *_PACE):
        if shipped not in text:
            raise PrometheusError(f"the configuration in {folder} has no {shipped!r}")
        text = text.replace(shipped, ours)
    return text


@asynccontextmanager
async def running(port: int) -> AsyncIterator[tuple[str, Callable[[str], None]]]:
    """Run a Prometheus until the block ends; then delete its data.

    Yields its URL, and a function that makes it scrape the exporter at an address; it scrapes nothing before.

    Raises:
        PrometheusError: there is none, or it does not start.
        AssetError: the shipped configuration is not installed.
    """
    if (program := shutil.which(PROGRAM)) is None:
        raise PrometheusError(
            "prometheus is not installed: Debian and Ubuntu have it as the package prometheus, Homebrew as prometheus"
        )
    folder = find_folder("prometheus")
    with TemporaryDirectory(prefix="edge-exporter-demo-", ignore_cleanup_errors=True) as home:
        config, log = Path(home) / "prometheus.yml", Path(home) / "log"
        # The exporter's port may not be known yet.
        config.write_text("{}\n", encoding="utf-8")
        with log.open("wb") as written:
            process = await asyncio.create_subprocess_exec(
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={home}/data",
                f"--web.listen-address={HOST}:{port}",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=written,
            )
        try:
            address = await _ready(process, partial(log.read_text, "utf-8", "replace"))

            def scrape(target: str) -> None:
                config.write_text(configuration(folder, target), encoding="utf-8")
                _signal(process, signal.SIGHUP)

            yield f"http://{address}", scrape
        finally:
            await _end(process)


async def _ready(process: asyncio.subprocess.Process, read_log: Callable[[], str]) -> str:
    """Read the log until Prometheus is ready, and return its address."""
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while process.returncode is None:
                # The two lines come in either order.
                text = read_log()
                if (found := _LISTENING.search(text)) and _READY in text:
                    return found[1]
                await asyncio.sleep(POLL_SECONDS)
    last = read_log().rstrip().rpartition("\n")[2]
    raise PrometheusError(f"prometheus did not start (--prometheus-port chooses another port): {last}")


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    # The process's own method would collect the exit code before asyncio does, and asyncio would log a warning.
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
