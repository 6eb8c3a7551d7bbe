"""`check` on a healthy platform, and with each fault of the platform or the configuration."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.platform import Platform, running
from tests.commands.shell import invoke, process
from tests.commands.terminal import type_in
from tests.exporter_parts import only
from tests.golden import assert_golden
from tests.ports import free_port
from tests.postgres import PASSWORD, Postgres

ACCOUNT = """\
accounts:
  - name: main
    base_url: {url}
    api_key: {key}
    timeout: 600s
    budget: {requests_per_second: 2000, max_in_flight: 8}
"""
DNS = f"collectors: {json.dumps(only('discovery', 'dns_statistics', 'dns_record_scans'))}\n"
HTML: dict[str, Any] = {"kind": "status", "status": 200, "content_type": "text/html", "body": "<html>"}
STATISTICS = f"collectors: {json.dumps(only('discovery', 'dns_statistics'))}\n"
FIXED = (
    """\
    dns_zones: {discover: false, ids: [101, 104, 999]}
    scripts: {discover: false}
    shield_zones: {discover: false}
"""
    f"collectors: {json.dumps(only('discovery', 'dns_statistics', 'dns_record_scans'))}\n"
)


def without_counts(table: str) -> str:
    """Return the table without the parts that change with every new metric."""
    return re.sub(r"\d+ famil(y|ies)", "N families", table)


def test_a_good_key_gives_a_table_of_what_is_well(platform: Platform, configure: Configure) -> None:
    ended = invoke("check", "--config", configure(ACCOUNT, url=platform.url, key=keys.API_KEY))
    assert (ended.err, ended.code) == ("", 0)
    assert_golden(without_counts(ended.out), Path(__file__).with_name("well.txt"))


def test_a_state_database_is_tried_and_not_changed(
    platform: Platform, configure: Configure, postgres: Postgres
) -> None:
    url = postgres.new_database()
    well_known = FIXED.replace(", 104, 999", "")
    path = configure(ACCOUNT + well_known + f"state: {{url: '{url}'}}\n", url=platform.url, key=keys.API_KEY)
    well = invoke("check", "--config", path)
    path.write_text(path.read_text().replace(PASSWORD, f"{PASSWORD}x"))
    refused = invoke("check", "--config", path)
    path.write_text(path.read_text().replace(f"{PASSWORD}x", PASSWORD).replace(url, postgres.new_database("LATIN1")))
    unfit = invoke("check", "--config", path)
    assert "state.url: its encoding is LATIN1, which cannot store every name; expected UTF8\n" in unfit.out
    assert "fault:" not in well.out
    line = path.read_text().splitlines().index(next(each for each in path.read_text().splitlines() if "state:" in each))
    assert f"fault: {path}:{line + 1}: state.url: " in refused.out
    assert "password authentication failed" in refused.out
    assert [ended.code for ended in (well, refused, unfit)] == [0, 1, 1]
    assert PASSWORD not in refused.out + refused.err


@pytest.fixture
def places(platform: Platform, unused_address: UnusedAddress) -> dict[str, str]:
    """The address of a platform, a port on which no program listens, and one that accepts and never answers."""
    return {"url": platform.url, "closed": str(free_port()), "silent": str(unused_address.port)}


DATABASE = "databases: [{name: one, url: '{url}', auth_token: wrong, queries: [{name: one, sql: SELECT 1 AS value}]}]"
FAILED = "account/main failing"
UNREACHABLE = f"{FAILED} the platform cannot be reached:"


@pytest.mark.parametrize(
    ("text", "row", "end"),
    [
        (ACCOUNT.replace("{key}", "wrong"), f"{FAILED} the key is not accepted: the platform answered 401",
         "3 targets, 1 fault."),
        (ACCOUNT.replace("{url}", "{url}/v1"),
         f"{FAILED} every poll fails: the platform answered 404: Not Found; check the path of base_url",
         "3 targets, 1 fault."),
        (ACCOUNT.replace("{url}", "http://127.0.0.1:{closed}"),
         f"{UNREACHABLE} nothing accepts connections there (127.0.0.1:{{closed}}: Connection refused)",
         "3 targets, 1 fault."),
        (ACCOUNT.replace("{url}", "https://platform.invalid"),
         f"{UNREACHABLE} the host name does not resolve (platform.invalid: ", "3 targets, 1 fault."),
        (ACCOUNT.replace("{url}", "http://127.0.0.1:{silent}").replace("600s", "1s"),
         f"{UNREACHABLE} no answer within 1 s (127.0.0.1:{{silent}})", "3 targets, 1 fault."),
        (DATABASE, "database/one failing the token is not accepted: the platform answered 401",
         "2 targets, 1 fault."),
        (ACCOUNT + FIXED.replace(", ids: [101, 104, 999]", ""),
         "nothing is polled: no target is configured, and none discovered", "0 targets, 0 faults."),
    ],
)  # fmt: skip
def test_what_concerns_a_whole_account_is_one_clear_line(
    places: dict[str, str], configure: Configure, text: str, row: str, end: str
) -> None:
    ended = invoke("check", "--config", configure(text, key=keys.API_KEY, **places))
    *found, last = ended.out.splitlines()
    for name, place in places.items():
        row = row.replace(f"{{{name}}}", place)
    # Blanks and an empty line: the row is the only one of its table.
    assert " ".join(found[-2].split()).startswith(row)
    assert (len(found), last, ended.code) == (3 if " 0 faults" in end else 4, end, int(" 1 fault." in end))


def test_a_key_that_opens_all_but_one_collector_is_said_once_for_that_collector(configure: Configure) -> None:
    with running(dns_zones=400) as platform:
        path = configure(ACCOUNT + STATISTICS, url=platform.url, key=keys.POWERLESS_KEY)
        ended = invoke("check", "--config", path)
        tried = [path for _, path in platform.requests if path.endswith("/statistics")]
    assert [" ".join(line.split()) for line in ended.out.splitlines() if "dns_statistics" in line] == [
        (
            "dns_statistics 400 targets, first dns_zone/101 prod-shop.example failing "
            "the platform answered 401: Authorization has been denied for this request."
        ),
    ]
    assert ended.out.endswith(" targets, 400 faults.\n")
    assert (ended.code, len(tried)) == (1, 400)


def test_what_the_platform_asks_to_wait_for_is_not_waited_for(platform: Platform, configure: Configure) -> None:
    platform.fail(kind="status", path_regex="/dnszone/.*/statistics", status=429, retry_after=3600)
    text = ACCOUNT.replace("max_in_flight: 8", "max_in_flight: 1") + DNS
    ended = invoke("check", "--config", configure(text, url=platform.url, key=keys.API_KEY))
    rows = [" ".join(line.split()) for line in ended.out.splitlines() if line.startswith("dns_")]
    assert [without_counts(row) for row in rows] == [
        "dns_statistics dns_zone/101 prod-shop.example failing the platform answered 429",
        (
            "dns_statistics 11 targets, first dns_zone/102 prod-api.example failing "
            "not polled yet: the platform asked to wait"
        ),
        "dns_record_scans 12 targets, first dns_zone/101 prod-shop.example ok N families",
    ]
    assert ended.code == 1


def test_an_unknown_zone_is_named_and_its_scan_is_not_called_never_scanned(
    platform: Platform, configure: Configure
) -> None:
    path = configure(ACCOUNT + FIXED, url=platform.url, key=keys.API_KEY)
    ended = invoke("check", "--config", path)
    assert ended.code == 1
    assert_golden(without_counts(ended.out), Path(__file__).with_name("unknown_zone.txt"))


def test_zones_that_fail_leave_the_others_well_and_their_answers_are_masked_and_escaped(
    platform: Platform, configure: Configure
) -> None:
    platform.world.dns.zones.rename(103, "evil\x1b[2J\x9b31m.example")
    platform.fail(**HTML, path="/dnszone/103/statistics")
    platform.fail(kind="status", path="/dnszone/106/statistics", status=400, body=f"no such key: {keys.API_KEY}")
    ended = invoke("check", "--config", configure(ACCOUNT + DNS, url=platform.url, key=keys.API_KEY))
    rows = [" ".join(line.split()) for line in ended.out.splitlines() if "dns_statistics" in line]
    assert [re.sub(r" \S+\.example", "", without_counts(row)) for row in rows] == [
        "dns_statistics 10 targets, first dns_zone/101 ok N families",
        "dns_statistics dns_zone/103 failing the platform answered 200 with a body that is HTML",
        "dns_statistics dns_zone/106 failing the platform answered 400: no such key: ***",
    ]
    assert r"evil\u001b[2J\u009b31m.example" in ended.out
    assert ended.out.endswith("25 targets, 2 faults.\n")
    assert (ended.err, ended.code, {method for method, _ in platform.requests}) == ("", 1, {"GET"})


def test_the_json_controls_no_terminal(platform: Platform, configure: Configure) -> None:
    name = "evil\x1b[2J\x9b31m\u202e.example"
    platform.world.dns.zones.rename(104, name)
    platform.fail(**HTML, path="/dnszone/104/statistics")
    ended = invoke("check", "-o", "json", "--config", configure(ACCOUNT + DNS, url=platform.url, key=keys.API_KEY))
    assert [char for char in ended.out if not char.isprintable() and char != "\n"] == []
    found = json.loads(ended.out)
    assert name in {row["name"] for row in found["results"]}
    assert (found["ok"], found["faults"], ended.code) == (False, 1, 1)


def test_a_query_that_fails_fails_alone_with_the_database_s_own_words(platform: Platform, configure: Configure) -> None:
    path = configure(
        """\
        databases:
          - name: orders
            url: {url}
            auth_token: {token}
            queries:
              - {name: open_orders, sql: "SELECT region, count(*) AS value FROM orders GROUP BY 1", labels: [region]}
              - {name: nope, sql: SELECT nope AS value FROM orders}
              - {name: written, sql: DELETE FROM orders}
        """,
        url=platform.url,
        token=keys.DATABASE_TOKEN_READ_ONLY,
    )
    ended = invoke("check", "--config", path)
    assert ended.code == 1
    assert_golden(without_counts(ended.out), Path(__file__).with_name("failing_query.txt"))


def test_a_budget_that_is_too_small_is_told_with_numbers_and_is_no_fault(configure: Configure) -> None:
    with running(dns_zones=40) as platform:
        text = ACCOUNT.replace("    budget", "    scripts: {discover: false}\n    budget") + (
            f"collectors: {json.dumps({**only('discovery'), 'dns_statistics': {'interval': '1s'}})}\n"
        )
        path = configure(text.replace("2000", "35"), url=platform.url, key=keys.API_KEY)
        ended = invoke("check", "--config", path)
    assert ended.out.splitlines()[-3] == (
        "the targets need 40 requests/s, the budget allows 35, so intervals will be 1.2 times as long as configured"
    )
    assert ended.code == 0


def test_offline_contacts_nothing(unused_address: UnusedAddress, configure: Configure) -> None:
    text = ACCOUNT + "    dns_zones: {ids: [101, 102]}\ncollectors: {dns_statistics: {interval: 1s}}\n"
    ended = invoke("check", "--offline", "--config", configure(text, url=unused_address.url, key="any"))
    assert ended.out == "The configuration is valid: 1 account, 0 databases, 0 queries. Nothing was contacted.\n"
    assert (ended.err, ended.code, unused_address.is_called()) == ("", 0, False)


def test_a_person_gets_a_bar_and_then_a_table_that_fits_the_terminal(platform: Platform, configure: Configure) -> None:
    path = configure(ACCOUNT, url=platform.url, key=keys.API_KEY)
    session = type_in(f"check --config {path}", {})
    bar, _, rest = session.seen.partition("account main\n")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", rest).splitlines()
    assert re.search(r"#\]  (\d+)/\1\b", bar) is not None
    assert plain[0].split() == ["COLLECTOR", "TARGET", "RESULT", "DETAIL"]
    assert max(map(len, plain)) <= 80
    assert re.fullmatch(r"[0-9]+ targets, 0 faults\.", plain[-1])
    assert session.code == 0


def test_ctrl_c_ends_a_check_without_a_word(unused_address: UnusedAddress, configure: Configure) -> None:
    path = configure(ACCOUNT, url=unused_address.url, key="any")
    with process("check", "--config", path) as check:
        while not unused_address.is_called():
            pass
        check.send(signal.SIGINT)
        ended = check.wait()
    assert (ended.out, ended.err, ended.code) == ("", "", 130)
