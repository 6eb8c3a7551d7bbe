"""`demo`: the exporter on a sandbox, with nothing to configure."""

import signal

import httpx
import pytest

from tests.commands.conftest import UnusedAddress
from tests.commands.shell import Ended, Process, invoke, process
from tests.waiting import wait_until


def addresses(demo: Process) -> dict[str, str]:
    """Return the printed addresses by their names."""
    reported = demo.read_until("Stop with Ctrl-C")
    lines = [line.split("  ") for line in reported.splitlines() if "http://" in line]
    return {words[1]: words[-1].strip() for words in lines}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_what_it_prints_until_a_signal_ends_it(number: signal.Signals) -> None:
    with process("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0") as demo:
        reported = addresses(demo)
        assert list(reported) == ["metrics", "status page", "sandbox", "control"]
        assert "edge_exporter_build_info" in httpx.get(reported["metrics"]).text
        assert httpx.get(reported["status page"]).status_code == 200
        assert httpx.get(f"{reported['sandbox']}/openapi.json").status_code == 200
        assert f" {reported['sandbox']}/sandbox/faults\n" in httpx.get(reported["control"]).text
        demo.send(number)
        ended = demo.wait()
    assert (ended.out.strip(), ended.err, ended.code) == ("", "", 0)


def test_fast_lets_the_world_s_time_run_240_times_as_fast_and_a_seed_chooses_the_world() -> None:
    with process("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0", "--fast", "--seed", "5") as demo:
        url = addresses(demo)["sandbox"]
        assert httpx.get(f"{url}/sandbox/clock").json()["speed"] == 240.0
        assert httpx.get(f"{url}/sandbox/world").json()["seed"] == 5


@pytest.mark.parametrize(("level", "is_told"), [("warning", False), ("info", True)])
def test_the_log_level_outlives_a_reload(level: str, *, is_told: bool) -> None:
    words = ("--listen", "127.0.0.1:0", "--sandbox-port", "0", "--log-level", level)
    with process("demo", *words) as demo:
        url = addresses(demo)["metrics"].removesuffix("/metrics")
        assert httpx.post(f"{url}/-/reload").status_code == 200
        demo.send(signal.SIGTERM)
        ended = demo.wait()
    assert ('"event": "configuration loaded"' in ended.err, '"event": "stopping"' in ended.err) == (is_told, is_told)


def test_what_it_polls_goes_well() -> None:
    with process("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0") as demo:
        url = addresses(demo)["metrics"]
        orders = 'edge_database_orders_open{database="orders",region="eu"}'
        wait_until(lambda: orders in httpx.get(url).text, orders)
        targets = [line for line in httpx.get(url).text.splitlines() if line.startswith("edge_target_up{")]
    assert targets
    assert [line for line in targets if not line.endswith(" 1.0")] == []


@pytest.mark.parametrize(("flag", "other"), [("--listen", "--sandbox-port"), ("--sandbox-port", "--listen")])
def test_an_address_that_is_taken_is_one_clear_line_with_the_flag_that_helps(
    unused_address: UnusedAddress, flag: str, other: str
) -> None:
    taken = {"--listen": f"127.0.0.1:{unused_address.port}", "--sandbox-port": str(unused_address.port)}
    free = {"--listen": "127.0.0.1:0", "--sandbox-port": "0"}
    ended = invoke("demo", flag, taken[flag], other, free[other])
    assert ended == Ended(
        "",
        f"cannot listen on 127.0.0.1:{unused_address.port}: Address already in use ({flag} chooses another address)\n",
        1,
    )


def test_the_environment_of_an_exporter_is_not_the_demo_s(unused_address: UnusedAddress) -> None:
    environ = {
        "EDGE_EXPORTER_BASE_URL": unused_address.url,
        "EDGE_EXPORTER_API_KEY": "k",
        "EDGE_EXPORTER_NONSENSE": "1",
    }
    with process("demo", "--listen", "127.0.0.1:0", "--sandbox-port", "0", environ=environ) as demo:
        addresses(demo)
    assert not unused_address.is_called()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "here"), "found 'here', expected host:port, [::1]:9877 or :9877"),
        (("--listen", "127.0.0.1:99999"), "found '127.0.0.1:99999', expected a port from 0 to 65535 after the ':'"),
        (("--sandbox-port", "99999"), "99999 is not in the range 0<=x<=65535"),
        (("--seed", "one"), "'one' is not a valid integer"),
        (("--log-level", "loud"), "'loud' is not one of 'debug', 'info', 'warning', 'error'"),
    ],
)
def test_what_makes_no_sense_is_misuse(words: tuple[str, ...], said: str) -> None:
    ended = invoke("demo", *words)
    assert (ended.out, ended.code) == ("", 2)
    assert said in ended.err
