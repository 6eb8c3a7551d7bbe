"""`demo --prometheus`: a real Prometheus with the shipped configuration and rules."""

import signal
from pathlib import Path

import httpx
import pytest

from tests.commands.shell import Ended, invoke, process
from tests.real_parts import Prometheus, find
from tests.rules.rule_files import load_rules
from tests.waiting import wait_until

PORTS = ("--listen", "127.0.0.1:0", "--sandbox-port", "0", "--prometheus")


@pytest.mark.real
def test_it_scrapes_the_demo_with_every_shipped_rule_and_ends_with_it(tmp_path: Path) -> None:
    find("prometheus")
    with process("demo", *PORTS, "--prometheus-port", "0", environ={"TMPDIR": str(tmp_path)}) as demo:
        printed = demo.read_addresses()
        url = printed["prometheus"]
        assert len(list(tmp_path.glob("edge-exporter-demo-*"))) == 1
        wait_until(lambda: Prometheus(url).ask("up == 1"), "a scrape")
        targets = httpx.get(f"{url}/api/v1/targets").json()["data"]["activeTargets"]
        assert [target["scrapeUrl"] for target in targets] == [printed["metrics"]]
        groups = httpx.get(f"{url}/api/v1/rules").json()["data"]["groups"]
        loaded = [rule["name"] for group in groups for rule in group["rules"]]
        assert sorted(loaded) == sorted(rule.name for rule in load_rules())
        demo.send(signal.SIGTERM)
        ended = demo.wait()
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)
    assert (ended.out.strip(), ended.err, ended.code) == ("", "", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
def test_a_port_that_is_taken_is_one_line_with_the_flag_that_helps() -> None:
    find("prometheus")
    with process("demo", *PORTS, "--prometheus-port", "0") as demo:
        port = demo.read_addresses()["prometheus"].rpartition(":")[2]
        with process("demo", *PORTS, "--prometheus-port", port) as second:
            ended = second.wait()
    assert (ended.out, ended.code) == ("", 1)
    assert ended.err.startswith("prometheus did not start (--prometheus-port chooses another port): ")
    assert "address already in use" in ended.err
    assert ended.err.count("\n") == 1


def test_where_none_is_installed_one_line_says_what_to_install(tmp_path: Path) -> None:
    ended = invoke("demo", *PORTS, environ={"PATH": str(tmp_path)})
    assert ended == Ended(
        "",
        "prometheus is not installed: Debian and Ubuntu have it as the package prometheus, Homebrew as prometheus\n",
        1,
    )
