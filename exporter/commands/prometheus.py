"""Runs a real Prometheus together with the demo, with the shipped configuration and rules."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from exporter.assets.shipped import AssetError, find_folder

HOST = "127.0.0.1"
PROGRAM = "prometheus"
START_SECONDS = 30.0
STOP_SECONDS = 3.0
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
    """
    if (program := shutil.which(PROGRAM)) is None:
        raise PrometheusError(
            "prometheus is not installed: Debian and Ubuntu have it as the package prometheus, Homebrew as prometheus"
        )
    try:
        folder = find_folder("prometheus")
    except AssetError as error:
        raise PrometheusError(str(error)) from error
    with TemporaryDirectory(prefix="edge-exporter-demo-", ignore_cleanup_errors=True) as home:
        config = Path(home) / "prometheus.yml"
        # The exporter's port may not be known yet.
        config.write_text("{}\n", encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={home}/data",
            f"--web.listen-address={HOST}:{port}",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        drained: asyncio.Task[None] | None = None
        try:
            lines = process.stderr
            if lines is None:
                raise PrometheusError("prometheus has no log output")
            address = await _ready(lines)
            drained = asyncio.create_task(_drain(lines), name="prometheus log")

            def scrape(target: str) -> None:
                config.write_text(configuration(folder, target), encoding="utf-8")
                _signal(process, signal.SIGHUP)

            yield f"http://{address}", scrape
        finally:
            await _end(process)
            if drained is not None:
                await drained


async def _ready(lines: asyncio.StreamReader) -> str:
    """Read the log until Prometheus is ready, and return its address."""
    address, last, is_ready = "", "", False
    # The two lines come in either order.
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            async for line in lines:
                last = line.decode(errors="replace").strip()
                if found := _LISTENING.search(last):
                    address = found.group(1)
                is_ready = is_ready or _READY in last
                if address and is_ready:
                    return address
    raise PrometheusError(f"prometheus did not start (--prometheus-port chooses another port): {last}")


async def _drain(lines: asyncio.StreamReader) -> None:
    # Keep reading: a full pipe would block Prometheus.
    while await lines.read(65_536):
        pass


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
