"""`sandbox`: the local platform alone."""

import signal

import httpx
import pytest

from exporter.sandbox import keys
from tests.commands.conftest import UnusedAddress
from tests.commands.shell import Ended, Process, invoke, process
from tests.waiting import PATIENCE

HEADERS = {"AccessKey": keys.API_KEY}


def address(sandbox: Process) -> str:
    """Return the printed address, when the whole message has been printed."""
    reported = sandbox.read_until("Stop with Ctrl-C")
    return reported.split("sandbox      ")[1].split()[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_a_connection_is_kept_open(number: signal.Signals) -> None:
    with process("sandbox", "--port", "0") as sandbox:
        url = address(sandbox)
        with httpx.Client(headers=HEADERS) as client:
            assert client.get(f"{url}/dnszone/101/statistics").status_code == 200
            sandbox.send(number)
            ended = sandbox.wait()
    assert ended == Ended("", "", 0) or ended == Ended("\n", "", 0)


def test_a_request_that_is_held_up_does_not_hold_up_its_end() -> None:
    with process("sandbox", "--port", "0") as sandbox:
        url = address(sandbox)
        httpx.post(f"{url}/sandbox/faults", json={"kind": "stall"})
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{url}/search", headers=HEADERS, timeout=httpx.Timeout(PATIENCE, read=1))
        sandbox.send(signal.SIGTERM)
        ended = sandbox.wait()
    assert (ended.err, ended.code) == ("", 0)


def test_it_tells_where_it_is_and_which_keys_open_it() -> None:
    with process("sandbox", "--port", "0") as sandbox:
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


def test_the_world_is_as_large_and_as_fast_as_it_is_told() -> None:
    sizes = ("--zones", "30", "--scripts", "2", "--shield-zones", "0", "--seed", "7", "--fast")
    with process("sandbox", "--port", "0", *sizes) as sandbox:
        url = address(sandbox)
        world = httpx.get(f"{url}/sandbox/world").json()
        clock = httpx.get(f"{url}/sandbox/clock").json()
    totals = [world[kind]["total"] for kind in ("dns_zones", "scripts", "shield_zones")]
    assert (totals, world["seed"], clock["speed"]) == ([30, 2, 0], 7, 240.0)


def test_an_address_that_is_taken_is_one_clear_line_with_the_flags_that_help(unused_address: UnusedAddress) -> None:
    assert invoke("sandbox", "--port", str(unused_address.port)) == Ended(
        "",
        f"cannot listen on 127.0.0.1:{unused_address.port}: Address already in use "
        "(--port or --host chooses another address)\n",
        1,
    )


def test_a_host_that_does_not_resolve_is_one_clear_line() -> None:
    ended = invoke("sandbox", "--host", "sandbox.invalid")
    assert ended.err.startswith("cannot listen on sandbox.invalid:9878: ")
    assert (ended.out, ended.code, ended.err.count("\n")) == ("", 1, 1)


@pytest.mark.parametrize(
    "words",
    [("--port", "70000"), ("--port", "x"), ("--zones", "-1"), ("--seed", "one"), ("--fast", "yes"), ("--slow",)],
)
def test_what_makes_no_sense_is_misuse(words: tuple[str, ...]) -> None:
    ended = invoke("sandbox", *words)
    assert (ended.out, ended.code) == ("", 2)
    assert "Error: " in ended.err
