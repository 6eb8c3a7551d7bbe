"""The programs that the exporter is compared with, each serving the same series."""

import shutil
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from isal import igzip

from tests.bench.child import Child, own, started
from tests.ports import free_port

EXPORTER = "exporter"
NGINX = "nginx, ready file"
PUSHGATEWAY = "pushgateway"
NODE_EXPORTER = "node_exporter textfile"
CLIENT = "prometheus-client"

_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 128; }}
http {{
  access_log off; sendfile on; gzip_static on; keepalive_requests 1000000;
  types {{ }} default_type "text/plain; version=0.0.4";
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that is measured in comparison.

    Attributes:
        program: the program that must be installed; empty if none is needed.
        serve: serves a text, which is also in a folder as the file `metrics`.
        most: the highest number of series that it can serve on such a machine.
    """

    name: str
    program: str
    serve: Callable[[bytes, Path], AbstractContextManager[Child]]
    most: int = 10**9

    @property
    def is_installed(self) -> bool:
        """Return whether it can be started here."""
        return not self.program or shutil.which(self.program) is not None


@contextmanager
def exporter(series: int, repoll: float = 0.0) -> Iterator[Child]:
    """Run the exporter with simulated polls; each target is polled once in `repoll` seconds."""
    with started(
        own("tests.bench.exporter_process", "--series", str(series), "--repoll", str(repoll)), quiet=False
    ) as child:
        yield child


@contextmanager
def _nginx(text: bytes, folder: Path) -> Iterator[Child]:
    (folder / "metrics.gz").write_bytes(igzip.compress(text, compresslevel=1))
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, port=port))
    with started(["nginx", "-c", str(configuration)], url=f"http://127.0.0.1:{port}/metrics") as child:
        yield child


@contextmanager
def _pushgateway(text: bytes, folder: Path) -> Iterator[Child]:
    del folder  # it keeps what it is given in memory
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus-pushgateway", f"--web.listen-address={address}", "--log.level=error"]
    with started(command, url=f"http://{address}/metrics") as child:
        push = urllib.request.Request(f"http://{address}/metrics/job/bench", text, method="PUT")
        with urllib.request.urlopen(push):  # noqa: S310 - our own loopback
            pass
        yield child


@contextmanager
def _node_exporter(text: bytes, folder: Path) -> Iterator[Child]:
    address = f"127.0.0.1:{free_port()}"
    (folder / "series.prom").write_bytes(text)
    command = [
        "prometheus-node-exporter",
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={folder}",
        f"--web.listen-address={address}",
    ]
    with started(command, url=f"http://{address}/metrics") as child:
        yield child


@contextmanager
def _client(text: bytes, folder: Path) -> Iterator[Child]:
    (folder / "text").write_bytes(text)
    with started(own("tests.bench.client_process", str(folder / "text"))) as child:
        yield child


_NGINX_PEER = Peer(NGINX, "nginx", _nginx)
PEERS = (
    _NGINX_PEER,
    # A scrape takes them seconds.
    Peer(PUSHGATEWAY, "prometheus-pushgateway", _pushgateway, most=500_000),
    Peer(CLIENT, "", _client, most=500_000),
    # It takes 13 kB a series while it is scraped.
    Peer(NODE_EXPORTER, "prometheus-node-exporter", _node_exporter, most=200_000),
)


@contextmanager
def all_serving(series: int) -> Iterator[dict[str, Child]]:
    """Return the exporter and every installed peer, with the same series."""
    bearable = [peer for peer in PEERS if series <= peer.most]
    with exporter(series) as subject, beside(subject.url, bearable) as serving:
        yield {EXPORTER: subject, **serving}


@contextmanager
def control(url: str) -> Iterator[dict[str, Child]]:
    """Run nginx, if it is installed, with an exporter's series; delays of this server are caused by the machine."""
    with beside(url, (_NGINX_PEER,)) as serving:
        yield serving


@contextmanager
def beside(url: str, peers: Sequence[Peer]) -> Iterator[dict[str, Child]]:
    """Return the installed peers, with the series of an exporter's zones."""
    with urllib.request.urlopen(f"{url}?collect[]=dns_statistics") as answer:  # noqa: S310 - our own loopback
        text = answer.read()
    with ExitStack() as stack:
        serving = {}
        for peer in peers:
            if peer.is_installed:
                folder = Path(stack.enter_context(TemporaryDirectory()))
                (folder / "metrics").write_bytes(text)
                serving[peer.name] = stack.enter_context(peer.serve(text, folder))
        yield serving
