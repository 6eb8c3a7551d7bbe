"""Other exporters of the same platform: a simple one in Python, and collectd."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.measured_process import Child, own, started
from tests.bench.nginx_platform import FIRST_ZONE
from tests.bench.peers import serving
from tests.ports import free_port

# Each URL is read every second. With a shorter interval, values would wait while new series are sorted one by one, in
# a queue without a limit, and that queue would be measured.
_COLLECTD = """
BaseDir "{folder}"
PIDFile "{folder}/pid"
Hostname "bench"
LoadPlugin write_prometheus
<Plugin write_prometheus>
  Host "127.0.0.1"
  Port "{port}"
</Plugin>
<LoadPlugin curl_json>
  Interval 1
</LoadPlugin>
<Plugin curl_json>
  {urls}
</Plugin>
"""
_CHARTS = ("QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart")


def _conventional(platform: str, zones: int) -> AbstractContextManager[Child]:
    return serving(*own("tests.bench.conventional", "PORT", platform, FIRST_ZONE, zones))


@contextmanager
def _collectd(platform: str, zones: int) -> Iterator[Child]:
    port, day = free_port(), datetime.now(UTC).strftime("%Y-%m-%dT00:00:00Z")
    # It neither adds up a chart nor finds its latest day by itself.
    keys = _key("TotalQueriesServed", "total") + _key("QueriesByTypeChart/*")
    keys += "".join(_key(f"{chart}/{day}", chart) for chart in _CHARTS)
    urls = "\n".join(
        f'<URL "{platform}/dnszone/{zone}/statistics">\nInstance "{zone}"\nHeader "AccessKey: key"\n{keys}</URL>'
        for zone in range(FIRST_ZONE, FIRST_ZONE + zones)
    )
    with TemporaryDirectory() as folder:
        configuration = Path(folder) / "collectd.conf"
        configuration.write_text(_COLLECTD.format(folder=folder, port=port, urls=urls))
        with started(("collectd", "-f", "-C", configuration), f"http://127.0.0.1:{port}", "/metrics") as child:
            yield child


def _key(path: str, instance: str = "") -> str:
    named = f'Instance "{instance}"\n' if instance else ""
    return f'<Key "{path}">\nType "gauge"\n{named}</Key>\n'


# What is not installed is left out.
ALTERNATIVES: dict[str, Callable[[str, int], AbstractContextManager[Child]]] = {
    "prometheus-client, httpx": _conventional,
    **({"collectd curl_json": _collectd} if shutil.which("collectd") else {}),
}
