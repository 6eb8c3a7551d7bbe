"""`check` on a healthy platform, and with each fault of the platform or the configuration: `well.txt`, `checks.txt`.

A case of `checks.txt` is one of `tests.commands.transcript`. Above it may be faults of the platform (`fault JSON`),
and below it the number of zones whose statistics were asked for. Of the platform's twelve zones one has an evil name.
`PLATFORM` is its address, and `TAKEN` a port that accepts connections and never answers.
"""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.log import logger
from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.sandbox_thread import Platform
from tests.commands.shell import Ended, invoke, process
from tests.commands.terminal import type_in
from tests.commands.transcript import assert_cases, given, printed
from tests.golden import assert_golden
from tests.postgres import PASSWORD, Postgres

CHECKS = Path(__file__).with_name("checks.txt")
EVIL = "evil\x1b[2J\x9b31m\u202e.example"
ACCOUNT = """\
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
    timeout: 600s
    budget: {requests_per_second: 2000, max_in_flight: 8}
"""
ONE = """\
    dns_zones: {discover: false, ids: [101]}
    scripts: {discover: false}
    shield_zones: {discover: false}
"""


def without_counts(table: str) -> str:
    """Return the table without the parts that change with every new metric."""
    return re.sub(r"\d+ famil(y|ies)", "N families", re.sub(r"\d+ to \d+ f", "N to M f", table))


def test_a_good_key_gives_a_table_of_what_is_well(platform: Platform, configure: Configure, tmp_path: Path) -> None:
    ended = invoke("check", "--config", configure(ACCOUNT, url=platform.url, key=keys.API_KEY))
    assert (ended.err, ended.code) == ("", 0), ended.out
    assert_golden(without_counts(ended.out), Path(__file__).with_name("well.txt"))
    with (tmp_path / "opened later").open("w", encoding="utf-8"):
        logger().error("not for this file, even if it has the number of a file that check has closed")
    assert not (tmp_path / "opened later").read_text()


def told(case: str, platform: Platform, port: str) -> Iterator[str]:
    """Run a case; yield what was printed, and the number of zones that were asked for."""
    platform.prepare(given(case))
    address = platform.url.removeprefix("http://")
    for line in printed(case.replace("PLATFORM", address).replace("TAKEN", port), {}):
        # The budget follows from how long calls take.
        shown = re.sub(r"(budget allows) [\d.]+$", r"\1 N", line)
        yield without_counts(shown.replace(address, "PLATFORM").replace(port, "TAKEN"))
    yield f"zones {len({path.partition('?')[0] for _, path, _ in platform.noted if '/statistics' in path})}"


def test_what_is_checked_and_found(
    platform: Platform, unused_address: UnusedAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    platform.world.dns.zones.rename(103, EVIL)
    assert_cases(CHECKS, lambda case: told(case, platform, str(unused_address.port)))


def test_a_state_database_is_tried_and_not_changed(
    platform: Platform, configure: Configure, postgres: Postgres
) -> None:
    url = postgres.new_database()
    text = f"{ACCOUNT}{ONE}shard: {{index: auto, total: 2}}\nstate: {{url: '{url}'}}\n"
    path = configure(text, url=platform.url, key=keys.API_KEY)
    # The database assigns the shards, and the targets of all shards are tried.
    well = invoke("check", "--config", path)
    path.write_text(path.read_text().replace(PASSWORD, f"{PASSWORD}x"))
    refused = invoke("check", "--config", path)
    path.write_text(path.read_text().replace(f"{PASSWORD}x", PASSWORD).replace(url, postgres.new_database("LATIN1")))
    unfit = invoke("check", "--config", path)
    assert "state.url: the encoding of the database is LATIN1, which cannot store every name" in unfit.out
    assert "fault:" not in well.out
    assert "dns_zone/101" in well.out
    last_line = len(path.read_text().splitlines())
    assert re.search(rf"fault: {path}:{last_line}: state\.url: .*password authentication failed", refused.out)
    assert [ended.code for ended in (well, refused, unfit)] == [0, 1, 1]
    assert PASSWORD not in refused.out + refused.err


def test_the_json_controls_no_terminal(platform: Platform, configure: Configure) -> None:
    platform.world.dns.zones.rename(104, EVIL)
    platform.faults.add({"kind": "status", "path": "/dnszone/104/statistics", "status": 500})
    ended = invoke("check", "-o", "json", "--config", configure(ACCOUNT, url=platform.url, key=keys.API_KEY))
    assert [char for char in ended.out if not char.isprintable() and char != "\n"] == []
    found = json.loads(ended.out)
    assert EVIL in {row["name"] for row in found["results"]}
    assert (found["ok"], found["faults"], ended.code) == (False, 1, 1)


def test_a_person_gets_a_bar_and_then_a_table_that_fits_the_terminal(platform: Platform, configure: Configure) -> None:
    path = configure(ACCOUNT, url=platform.url, key=keys.API_KEY)
    ended = type_in(f"check --config {path}", {})
    bar, _, rest = ended.out.partition("account main\n")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", rest).splitlines()
    assert re.search(r"#\]  (\d+)/\1\b", bar) is not None
    assert plain[0].split() == ["COLLECTOR", "TARGET", "RESULT", "DETAIL"]
    assert max(map(len, plain)) <= 80
    assert re.fullmatch(r"[0-9]+ targets, 0 faults\.", plain[-1])
    assert ended.code == 0


def test_a_key_that_is_gone_is_named(platform: Platform, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    path = configure(ACCOUNT.replace("api_key: {key}", "api_key_file: key"), url=platform.url)
    key = path.with_name("key")
    key.write_text(keys.API_KEY)
    monkeypatch.setattr("exporter.commands.check.findings.configure", lambda *_, **__: key.unlink())
    assert f"failing  the key or token cannot be read: {key} does not exist\n" in invoke("check", "--config", path).out


def test_ctrl_c_ends_a_check_without_a_word(unused_address: UnusedAddress, configure: Configure) -> None:
    with process("check", "--config", configure(ACCOUNT, url=unused_address.url, key="any")) as check:
        while not unused_address.is_called():
            pass
        check.send(signal.SIGINT)
        assert check.wait() == Ended("", "", 130)
