"""A daemon and a hostile platform, each as a process; the tests count events and do not measure seconds."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from tests.ports import free_port
from tests.waiting import PATIENCE

KEY = "0123456789abcdef-not-a-key"


def get(url: str) -> bytes:
    """Return the content of a URL."""
    with urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - a server of the test's own
        body: bytes = answer.read()
    return body


def until(is_so: Callable[[], bool]) -> int:
    """Repeat a check until it is true, and return the number of failed checks."""
    ends = time.monotonic() + PATIENCE
    times = 0
    while not is_so():
        assert time.monotonic() < ends, "it never was"
        times += 1
        time.sleep(0.01)
    return times


@dataclass
class HostileRun:
    """The two processes."""

    platform: str
    exporter: str
    daemon: "subprocess.Popen[bytes]"
    log: Path

    def events(self) -> dict[str, int]:
        """Return the platform's counts of requests and answers."""
        found: dict[str, int] = json.loads(get(f"{self.platform}/events"))
        return found

    def sample(self, family: str) -> float | None:
        """Scrape one family, and return the sum of its samples; None if there is none."""
        text = get(f"{self.exporter}/metrics?name[]={family}").decode()
        samples = [
            sample.value
            for found in text_string_to_metric_families(text)
            for sample in found.samples
            if sample.name == family
        ]
        return sum(samples) if samples else None

    def target(self, key: str) -> dict[str, str]:
        """Return the status of a target."""
        rows = json.loads(get(f"{self.exporter}/api/v1/targets"))["targets"]
        found: dict[str, str] = next(row for row in rows if row["target"] == key)
        return found

    def end(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self.daemon.send_signal(signal.SIGTERM)
        return self.daemon.wait(PATIENCE)


@contextmanager
def hostile_run(
    folder: Path, configuration: str, *, zones: int = 0, rows: int = 1, name: str = "zone-{}.example"
) -> Iterator[HostileRun]:
    """Start both processes, and wait until the daemon serves.

    Args:
        folder: the folder for the files.
        configuration: YAML without `web` and `state`; `{url}` and `{key}` are replaced by the platform's address and
            the file of its key.
        zones: how many zones the platform's search finds.
        rows: how many rows each query returns.
        name: the name of the zones.
    """
    port, own_port = free_port(), free_port()
    platform, exporter = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{own_port}"
    key = folder / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    config = folder / "config.yml"
    ends = f"web: {{listen: '127.0.0.1:{own_port}'}}\nstate: {{path: null}}\n"
    config.write_text(configuration.replace("{url}", platform).replace("{key}", str(key)) + ends)
    log = folder / "log"
    hostile = [sys.executable, "-m", "tests.hostile.platform", str(port), str(zones), str(rows), name]
    with subprocess.Popen(hostile, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with log.open("wb") as lines:
            daemon = subprocess.Popen([sys.executable, "-m", "exporter", "run", "--config", str(config)], stderr=lines)
        try:
            until(lambda: _is_serving(exporter, daemon))
            yield HostileRun(platform, exporter, daemon, log)
        finally:
            daemon.kill()
            daemon.wait()
            other.kill()


def _is_serving(exporter: str, daemon: "subprocess.Popen[bytes]") -> bool:
    assert daemon.poll() is None, "the daemon has ended; its log says why"
    try:
        return bool(get(f"{exporter}/-/healthy"))
    except (URLError, ConnectionError):
        return False
