"""The shipped jobs: a real Prometheus finds the zones at an exporter, and a real blackbox exporter probes them."""

import asyncio
import json
import math
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import bcrypt
import httpx
import pytest
import yaml

from exporter.sandbox import keys
from tests.counters.exporter_process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons, sandboxed_daemons
from tests.http_answers import answering
from tests.ports import free_port
from tests.real_parts import (
    REPOSITORY,
    Prometheus,
    Release,
    blackbox_exporter_reading,
    find_of,
    prometheus_running,
)
from tests.web.certificates import Authority

pytestmark = pytest.mark.real
SHIPPED = REPOSITORY / "deploy" / "prometheus"
PASSWORD = "scraper's"


class Sites:
    """The websites of zones and scripts, each below its name, and a resolver that answers in JSON."""

    url: str

    def __init__(self) -> None:
        self.broken: set[str] = set()

    def answer(self, request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        """Answer as the resolver, or as a website."""
        asked = urlsplit(request.path)
        name = parse_qs(asked.query).get("name", [asked.path.strip("/")])[0]
        is_broken = name in self.broken
        body = {"Status": 3} if is_broken else {"Status": 0, "Answer": [{"name": name, "type": 6}]}
        return (200 if asked.query or not is_broken else 500), json.dumps(body).encode()


@contextmanager
def sites_running(authority: Authority) -> Iterator[Sites]:
    """Serve the websites until the block ends."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue("127.0.0.1", "sites"))
    sites = Sites()
    with answering(sites.answer, tls) as sites.url:
        yield sites


def shipped(sites: Sites, blackbox: str, port: int, authority: Authority) -> dict[str, Any]:
    """Return the shipped jobs, with the addresses, the credentials and the pace of a test."""
    text = (SHIPPED / "probes.yml").read_text()
    for there, here in (
        ("https://$1/", f"{sites.url}/$1"),
        ("https://dns.example.net", sites.url),
        ("127.0.0.1:9115", blackbox.removeprefix("http://")),
        ("http://127.0.0.1:9877", f"https://127.0.0.1:{port}"),
        ("scrape_interval: 1m", "scrape_interval: 1s\n    scrape_timeout: 1s"),
        ("refresh_interval: 30s", "refresh_interval: 300ms"),
    ):
        assert there in text
        text = text.replace(there, here)
    config: dict[str, Any] = yaml.safe_load(text)
    for job in config["scrape_configs"]:
        job["http_sd_configs"][0] |= {
            "tls_config": {"ca_file": str(authority.file)},
            "basic_auth": {"username": "prometheus", "password": PASSWORD},
        }
    return config


def protected(folder: Path, sandboxed: SandboxedDaemons, port: int, authority: Authority) -> dict[str, Any]:
    """Return the settings of an exporter with TLS and a password, whose state stays in the folder."""
    certificate, key = authority.issue("127.0.0.1", "exporter")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    tls = {"cert_file": str(certificate), "key_file": str(key)}
    web = {"tls_server_config": tls, "basic_auth_users": {"prometheus": hashed}}
    (folder / "web.yml").write_text(json.dumps(web))
    return {
        "accounts": [{"name": "main", "base_url": sandboxed.sandbox.url, "api_key": keys.API_KEY}],
        "state": {"path": str(folder / "state.db")},
        "web": {"listen": f"127.0.0.1:{port}", "config_file": "web.yml"},
        "collectors": {"discovery": {"interval": "1s"}},
        "log": {"format": "json"},
    }


async def until_probed(prometheus: Prometheus, zones: int) -> None:
    """Wait until so many zones, and the script, are probed with success."""
    for job, number in (("https", zones), ("dns", zones), ("script", 1)):
        await prometheus.until(f'count(probe_success{{job="edge-probe-{job}"}} == 1)', number)


def page_rules() -> str:
    return (REPOSITORY / "docs" / "probes.md").read_text().partition("```yaml\n")[2].partition("```")[0]


@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["2", "3"])
async def test_zones_are_probed_as_they_come_and_go_and_an_outage_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Release
) -> None:
    authority, port = Authority(tmp_path), free_port()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with sandboxed_daemons(tmp_path) as sandboxed:
        with ExitStack() as stack:
            sites = stack.enter_context(sites_running(authority))
            blackbox = stack.enter_context(blackbox_exporter_reading(SHIPPED / "blackbox.yml"))
            settings = protected(tmp_path, sandboxed, port, authority)
            exporter = await asyncio.to_thread(Exporter, settings, tmp_path)
            stack.callback(lambda: exporter.is_running() and exporter.end())
            async with httpx.AsyncClient(verify=authority.client(), trust_env=False) as stranger:
                assert (await stranger.get(f"{exporter.url}/sd/dns_zone")).status_code == 401
            config = shipped(sites, blackbox, port, authority)
            prometheus = stack.enter_context(prometheus_running(tmp_path, config, release))
            await until_probed(prometheus, 3)
            found = await asyncio.to_thread(prometheus.ask, 'probe_success{job="edge-probe-https",zone_id="101"}')
            assert found[0]["metric"] == {
                "__name__": "probe_success",
                "job": "edge-probe-https",
                "account": "main",
                "zone_id": "101",
                "domain": "prod-shop.example",
                "instance": "prod-shop.example",
            }
            expiry = await asyncio.to_thread(prometheus.ask, "probe_ssl_earliest_cert_expiry - time() > 0")
            assert len(expiry) == 2 * 3 + 1

            sandboxed.world.dns.add_zone("new.example")
            await until_probed(prometheus, 4)
            sandboxed.world.dns.remove_zone(102)
            await until_probed(prometheus, 3)

            sandboxed.faults.add({"kind": "status", "status": 503, "path_regex": ".*"})
            began = time.time()
            await asyncio.to_thread(exporter.end)
            exporter = await asyncio.to_thread(Exporter, settings, tmp_path)
            # The list is read several times more, and a target counts even where a slow machine misses a probe.
            await prometheus.until(f"min(timestamp(up)) > bool {time.time() + 2}", 1)
            least = f"min_over_time(count(up)[{math.ceil(time.time() - began)}s:100ms])"
            assert [each["value"][1] for each in await asyncio.to_thread(prometheus.ask, least)] == ["7"]

            sites.broken.add("new.example")
            alerts = yaml.safe_load(page_rules())["groups"][0]["rules"]
            for alert, number in (("EdgeProbeFailing", 2), ("EdgeCertificateEnding", 0)):
                (expression,) = [rule["expr"] for rule in alerts if rule["alert"] == alert]
                await prometheus.until(f"count({expression}) or vector(0)", number)


@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["2", "3"])
def test_the_shipped_jobs_and_the_alerts_of_the_page_are_valid(tmp_path: Path, release: Release) -> None:
    (tmp_path / "alerts.yml").write_text(page_rules())
    shutil.copy(SHIPPED / "probes.yml", tmp_path / "prometheus.yml")
    promtool = find_of(release, "promtool")
    for what, file in (("config", "prometheus.yml"), ("rules", "alerts.yml")):
        subprocess.run([promtool, "check", what, tmp_path / file], check=True, capture_output=True)
