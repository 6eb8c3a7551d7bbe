"""`demo`, the exporter on a sandbox with nothing to configure, and `sandbox`, the local platform alone."""

import signal
import socket

import httpx
import pytest

from exporter.sandbox import keys
from tests.commands.conftest import UnusedAddress
from tests.commands.shell import process
from tests.waiting import wait_until

DEMO = ("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0")
SANDBOX = ("sandbox", "--port", "0")
HEADERS = {"AccessKey": keys.API_KEY}
WORLD = ("--seed", "7", "--fast")


@pytest.mark.parametrize(
    ("number", "words", "told"),
    [(signal.SIGTERM, (), []), (signal.SIGINT, ("--log-level", "info"), ["configuration loaded", "stopping"])],
)
def test_a_demo_serves_what_it_prints_and_polls_no_other_platform_until_a_signal_ends_it(
    unused_address: UnusedAddress, number: signal.Signals, words: tuple[str, ...], told: list[str]
) -> None:
    environ = {"BASE_URL": unused_address.url, "API_KEY": "k", "NONSENSE": "1"}
    others = {f"EDGE_EXPORTER_{name}": value for name, value in environ.items()}
    with process(*DEMO, *WORLD, *words, environ=others) as demo:
        reported = demo.read_addresses()
        assert list(reported) == ["metrics", "status page", "sandbox", "control"]
        assert "edge_exporter_build_info" in httpx.get(reported["metrics"]).text
        assert httpx.get(reported["status page"]).status_code == 200
        assert httpx.get(f"{reported['sandbox']}/openapi.json").status_code == 200
        assert f" {reported['sandbox']}/sandbox/faults\n" in httpx.get(reported["control"]).text
        assert world_of(reported["sandbox"])[:2] == (7, 240.0)
        orders = 'edge_database_orders_open{database="orders",region="eu"}'
        wait_until(lambda: orders in httpx.get(reported["metrics"]).text, orders)
        text = httpx.get(reported["metrics"]).text
        targets = [line for line in text.splitlines() if line.startswith("edge_target_up{")]
        assert targets
        assert [line for line in targets if not line.endswith(" 1.0")] == []
        # The level of the log outlives a reload.
        assert httpx.post(f"{reported['metrics'].removesuffix('/metrics')}/-/reload").status_code == 200
        demo.send(number)
        ended = demo.wait()
    assert (ended.out.strip(), ended.code) == ("", 0)
    assert not unused_address.is_called()
    assert bool(ended.err) == bool(told), ended.err
    assert [event for event in told if f'"event": "{event}"' not in ended.err] == []


@pytest.mark.parametrize(
    ("number", "words", "world"),
    [
        (signal.SIGTERM, (), (1, 1.0, 12, 4, 3)),
        (signal.SIGINT, (*WORLD, "--zones", "30", "--scripts", "2", "--shield-zones", "0"), (7, 240.0, 30, 2, 0)),
    ],
)
def test_a_sandbox_tells_where_it_is_and_what_opens_it_and_a_signal_ends_it_though_a_request_was_held_up(
    number: signal.Signals, words: tuple[str, ...], world: tuple[float, ...]
) -> None:
    with process(*SANDBOX, *words) as sandbox:
        reported = sandbox.read_until("Stop with Ctrl-C")
        url = reported.split("sandbox      ")[1].split()[0]
        token = {"Authorization": f"Bearer {keys.DATABASE_TOKEN_READ_ONLY}"}
        # A connection is open when the signal comes.
        with httpx.Client(headers=HEADERS, base_url=url) as client:
            assert client.get("/dnszone/101/statistics").status_code == 200
            assert client.post("/v2/pipeline", json={"requests": []}, headers=token).status_code == 200
            assert client.get("/openapi.json").status_code == 200
            assert f"{url}/sandbox/faults" in client.get("/sandbox").text
            assert world_of(url) == world
            client.post("/sandbox/faults", json={"kind": "stall", "path": "/search"})
            with socket.create_connection(("127.0.0.1", client.base_url.port)) as held:
                held.sendall(f"GET /search HTTP/1.1\r\nHost: here\r\nAccessKey: {keys.API_KEY}\r\n\r\n".encode())
                wait_until(lambda: client.get("/sandbox/faults").json()[0]["hits"], "the request")
                sandbox.send(number)
                ended = sandbox.wait()
    assert (ended.out.strip(), ended.err, ended.code) == ("", "", 0)
    for secret in (keys.API_KEY, keys.BEARER_TOKEN, keys.DATABASE_TOKEN_READ_ONLY, keys.DATABASE_TOKEN_FULL):
        assert secret in reported
    assert f"EDGE_EXPORTER_BASE_URL={url} EDGE_EXPORTER_API_KEY={keys.API_KEY} edge-exporter check" in reported


def world_of(url: str) -> tuple[float, ...]:
    """Return a sandbox's seed, the speed of its clock, and its numbers of zones, scripts and shield zones."""
    world = httpx.get(f"{url}/sandbox/world").json()
    totals = (world[kind]["total"] for kind in ("dns_zones", "scripts", "shield_zones"))
    return (world["seed"], httpx.get(f"{url}/sandbox/clock").json()["speed"], *totals)
