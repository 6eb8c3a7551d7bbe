"""The programs that the exporter is compared with, each serving the same series."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from isal import igzip

from tests.bench.measured_process import PATIENCE, Child, get, nginx, own, started
from tests.ports import free_port

EXPORTER = "exporter"


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that is measured in comparison.

    Attributes:
        program: the program that must be installed; empty if none is needed.
        serve: runs it on the file `metrics` of a folder.
        most: the highest number of series that it can serve on such a machine.
    """

    name: str
    program: str
    serve: Callable[[Path], AbstractContextManager[Child]]
    most: int = 10**9

    @property
    def is_installed(self) -> bool:
        """Return whether it can be started here."""
        return not self.program or shutil.which(self.program) is not None


def serving(*command: object) -> AbstractContextManager[Child]:
    """Run a command that serves `/metrics` on a port of the loopback, which is written in the place of `PORT`."""
    port = str(free_port())
    return started([str(word).replace("PORT", port) for word in command], f"http://127.0.0.1:{port}", "/metrics")


def _client(folder: Path) -> AbstractContextManager[Child]:
    return serving(*own("tests.bench.client", "PORT", folder / "metrics"))


def _nginx(folder: Path) -> AbstractContextManager[Child]:
    (folder / "metrics.gz").write_bytes(igzip.compress((folder / "metrics").read_bytes(), compresslevel=1))
    return nginx(folder, 'gzip_static on; default_type "text/plain; version=0.0.4";', "/metrics")


@contextmanager
def _pushgateway(folder: Path) -> Iterator[Child]:
    with serving("prometheus-pushgateway", "--web.listen-address=127.0.0.1:PORT") as child:
        text = (folder / "metrics").read_bytes()
        httpx.put(f"{child.url}/metrics/job/bench", content=text, timeout=PATIENCE).raise_for_status()
        yield child


def _node_exporter(folder: Path) -> AbstractContextManager[Child]:
    (folder / "metrics").rename(folder / "series.prom")
    textfile = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}")
    return serving("prometheus-node-exporter", "--web.listen-address=127.0.0.1:PORT", *textfile)


NGINX = Peer("nginx, ready file", "nginx", _nginx)
PEERS = (
    NGINX,
    # A scrape takes them seconds.
    Peer("pushgateway", "prometheus-pushgateway", _pushgateway, most=500_000),
    Peer("prometheus-client", "", _client, most=500_000),
    # It takes 13 kB a series while it is scraped.
    Peer("node_exporter textfile", "prometheus-node-exporter", _node_exporter, most=200_000),
)


@contextmanager
def beside(subject: Child, peers: Sequence[Peer] = (NGINX,)) -> Iterator[dict[str, Child]]:
    """Return an exporter, and the installed peers with the series of its zones.

    Beside an nginx alone, delays of both are the machine's.
    """
    text = get(f"{subject.url}/metrics?collect[]=dns_statistics")
    with ExitStack() as stack:
        serving = {EXPORTER: subject}
        for peer in peers:
            if peer.is_installed:
                folder = Path(stack.enter_context(TemporaryDirectory()))
                (folder / "metrics").write_bytes(text)
                serving[peer.name] = stack.enter_context(peer.serve(folder))
        yield serving
