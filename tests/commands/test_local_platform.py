"""`demo`, the exporter on a sandbox with nothing to configure, and `sandbox`, the local platform alone."""

import signal

import httpx
import pytest

from exporter.sandbox import keys
from tests.commands.conftest import UnusedAddress
from tests.commands.shell import Ended, invoke, process
from tests.waiting import PATIENCE, wait_until

DEMO = ("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0")
SANDBOX = ("sandbox", "--port", "0")
HEADERS = {"AccessKey": keys.API_KEY}
SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


@SIGNALS
def test_a_demo_serves_what_it_prints_until_a_signal_ends_it(number: signal.Signals) -> None:
    with process(*DEMO) as demo:
        reported = demo.read_addresses()
        assert list(reported) == ["metrics", "status page", "sandbox", "control"]
        assert "edge_exporter_build_info" in httpx.get(reported["metrics"]).text
        assert httpx.get(reported["status page"]).status_code == 200
        assert httpx.get(f"{reported['sandbox']}/openapi.json").status_code == 200
        assert f" {reported['sandbox']}/sandbox/faults\n" in httpx.get(reported["control"]).text
        demo.send(number)
        ended = demo.wait()
    assert (ended.out.strip(), ended.err, ended.code) == ("", "", 0)


@SIGNALS
def test_a_signal_ends_a_sandbox_though_a_connection_is_open_and_a_request_was_held_up(number: signal.Signals) -> None:
    with process(*SANDBOX) as sandbox:
        url = sandbox.read_addresses()["sandbox"]
        with httpx.Client(headers=HEADERS) as client:
            assert client.get(f"{url}/dnszone/101/statistics").status_code == 200
            client.post(f"{url}/sandbox/faults", json={"kind": "stall", "path": "/search"})
            with pytest.raises(httpx.ReadTimeout):
                httpx.get(f"{url}/search", headers=HEADERS, timeout=httpx.Timeout(PATIENCE, read=1))
            sandbox.send(number)
            ended = sandbox.wait()
    assert (ended.out.strip(), ended.err, ended.code) == ("", "", 0)


def test_a_sandbox_tells_where_it_is_and_which_keys_open_it() -> None:
    with process(*SANDBOX) as sandbox:
        reported = sandbox.read_until("Stop with Ctrl-C")
        url = reported.split("sandbox      ")[1].split()[0]
        token = {"Authorization": f"Bearer {keys.DATABASE_TOKEN_READ_ONLY}"}
        assert httpx.get(f"{url}/search", headers=HEADERS).status_code == 200
        assert httpx.post(f"{url}/v2/pipeline", json={"requests": []}, headers=token).status_code == 200
        assert httpx.get(f"{url}/openapi.json").status_code == 200
        assert f"{url}/sandbox/faults" in httpx.get(f"{url}/sandbox").text
    for secret in (keys.API_KEY, keys.BEARER_TOKEN, keys.DATABASE_TOKEN_READ_ONLY, keys.DATABASE_TOKEN_FULL):
        assert secret in reported
    assert f"EDGE_EXPORTER_BASE_URL={url} EDGE_EXPORTER_API_KEY={keys.API_KEY} edge-exporter check" in reported


@pytest.mark.parametrize(
    ("words", "totals"),
    [(DEMO, None), ((*SANDBOX, "--zones", "30", "--scripts", "2", "--shield-zones", "0"), [30, 2, 0])],
)
def test_the_world_is_as_large_and_as_fast_as_it_is_told(words: tuple[str, ...], totals: list[int] | None) -> None:
    with process(*words, "--seed", "7", "--fast") as started:
        url = started.read_addresses()["sandbox"]
        world = httpx.get(f"{url}/sandbox/world").json()
        assert (world["seed"], httpx.get(f"{url}/sandbox/clock").json()["speed"]) == (7, 240.0)
    assert totals in (None, [world[kind]["total"] for kind in ("dns_zones", "scripts", "shield_zones")])


@pytest.mark.parametrize(("level", "is_told"), [("warning", False), ("info", True)])
def test_the_log_level_of_a_demo_outlives_a_reload(level: str, *, is_told: bool) -> None:
    with process(*DEMO, "--log-level", level) as demo:
        url = demo.read_addresses()["metrics"].removesuffix("/metrics")
        assert httpx.post(f"{url}/-/reload").status_code == 200
        demo.send(signal.SIGTERM)
        ended = demo.wait()
    assert ('"event": "configuration loaded"' in ended.err, '"event": "stopping"' in ended.err) == (is_told, is_told)


def test_what_a_demo_polls_goes_well_and_is_not_the_environment_s(unused_address: UnusedAddress) -> None:
    environ = {
        "EDGE_EXPORTER_BASE_URL": unused_address.url,
        "EDGE_EXPORTER_API_KEY": "k",
        "EDGE_EXPORTER_NONSENSE": "1",
    }
    with process(*DEMO, environ=environ) as demo:
        url = demo.read_addresses()["metrics"]
        orders = 'edge_database_orders_open{database="orders",region="eu"}'
        wait_until(lambda: orders in httpx.get(url).text, orders)
        targets = [line for line in httpx.get(url).text.splitlines() if line.startswith("edge_target_up{")]
    assert targets
    assert [line for line in targets if not line.endswith(" 1.0")] == []
    assert not unused_address.is_called()


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("demo --listen 127.0.0.1:{port} --sandbox-port 0", "--listen"),
        ("demo --listen 127.0.0.1:0 --sandbox-port {port}", "--sandbox-port"),
        ("sandbox --port {port}", "--port or --host"),
    ],
)
def test_an_address_that_is_taken_is_one_clear_line_with_the_flag_that_helps(
    unused_address: UnusedAddress, words: str, flag: str
) -> None:
    port = unused_address.port
    assert invoke(*words.format(port=port).split()) == Ended(
        "", f"cannot listen on 127.0.0.1:{port}: Address already in use ({flag} chooses another address)\n", 1
    )


def test_a_host_that_does_not_resolve_is_one_clear_line() -> None:
    ended = invoke("sandbox", "--host", "sandbox.invalid")
    assert ended.err.startswith("cannot listen on sandbox.invalid:9878: ")
    assert (ended.out, ended.code, ended.err.count("\n")) == ("", 1, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("demo --listen here", "found 'here', expected host:port, [::1]:9877 or :9877"),
        ("demo --listen 127.0.0.1:99999", "found '127.0.0.1:99999', expected a port from 0 to 65535 after the ':'"),
        ("demo --log-level loud", "'loud' is not one of 'debug', 'info', 'warning', 'error'"),
        ("sandbox --port 70000", "70000 is not in the range 0<=x<=65535"),
        ("sandbox --zones -1", "-1 is not in the range 0<=x<=200000"),
    ],
)
def test_what_makes_no_sense_is_misuse(words: str, said: str) -> None:
    ended = invoke(*words.split())
    assert (ended.out, ended.code, said in ended.err) == ("", 2, True), ended.err
