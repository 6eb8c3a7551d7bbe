"""An nginx that answers every zone's statistics from files, which can be replaced."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.child import started
from tests.bench.platform_process import chart
from tests.ports import free_port

CODES = (1, 2, 5, 6, 12, 15, 16, 28, 65, 257)
# Zones whose ids end alike have the same answer.
ANSWERS = 100

_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000;
  types {{ }} default_type application/json;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port};
    location = /requests {{ stub_status; }}
    location ~ ^/dnszone/\\d*?(\\d\\d?)/statistics$ {{ alias {folder}/$1.json; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class ZonesNginx:
    """A running nginx, and the folder of its answers."""

    url: str
    folder: Path

    def requests(self) -> int:
        """Return the number of answered requests."""
        with urllib.request.urlopen(f"{self.url}/requests") as answer:  # noqa: S310 - our own loopback
            return int(answer.read().split()[9])

    def write(self, grown: int) -> None:
        """Replace all answers; today's count is higher by `grown` than in the first answers."""
        for place in range(ANSWERS):
            written = self.folder / "new"
            written.write_bytes(_answer(place, grown))
            for name in {str(place), f"{place:02}"}:
                linked = self.folder / f"{name}.link"
                linked.hardlink_to(written)
                linked.replace(self.folder / f"{name}.json")
            written.unlink()


def _answer(place: int, grown: int) -> bytes:
    charts = [chart(place * each) for each in (3, 2, 1)]
    for days in charts:
        days[max(days)] += grown
    total, normal, smart = charts
    body = {
        "TotalQueriesServed": sum(total.values()),
        "QueriesServedChart": total,
        "NormalQueriesServedChart": normal,
        "SmartQueriesServedChart": smart,
        "QueriesByTypeChart": {str(code): code * 100 + place + grown for code in CODES},
    }
    return json.dumps(body, separators=(",", ":")).encode()


@contextmanager
def zones_nginx() -> Iterator[ZonesNginx]:
    """Run an nginx until the block ends."""
    with TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        url = f"http://127.0.0.1:{port}"
        platform = ZonesNginx(url, folder)
        platform.write(0)
        configuration = folder / "nginx.conf"
        configuration.write_text(_NGINX.format(folder=folder, port=port))
        with started(["nginx", "-c", str(configuration)], url=f"{url}/requests"):
            yield platform
