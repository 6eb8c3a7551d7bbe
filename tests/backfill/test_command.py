"""The command `backfill`: the arguments that it refuses, how it ends, and what it prints."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.counters.rows import StateRow
from exporter.sandbox import keys
from exporter.targets.target import PollKey
from tests.backfill.backfill_setup import grown, parsed
from tests.commands.sandbox_thread import Platform, running
from tests.commands.shell import Ended, invoke
from tests.counters.ledger_driver import write_rows
from tests.deploy.files import DEPLOY


@pytest.fixture
def platform() -> Iterator[Platform]:
    with running(is_present=True, dns_zones=5) as served:
        yield served


@pytest.fixture
def config(tmp_path: Path, platform: Platform) -> Path:
    file = tmp_path / "config.yml"
    file.write_text(f"""
accounts:
  - {{name: main, base_url: "{platform.url}", api_key: {keys.API_KEY}, budget: {{requests_per_second: 1000}}}}
state: {{path: {tmp_path / "state.db"}}}
""")
    return file


def backfill(config: Path, *arguments: str) -> Ended:
    return invoke("backfill", "--config", config, "--output", config.parent / "history.om", *arguments)


def day(ahead: int) -> str:
    return (datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()


def test_a_month_is_written_and_the_next_step_is_named(config: Path) -> None:
    ended = backfill(config, "--step", "3h", "--label", "job=edge", "--label", "instance=a:1")
    output = config.parent / "history.om"
    assert (ended.code, ended.err) == (0, "")
    first, following = ended.out.splitlines()
    raw = parsed(output)
    sizes = f"{len(raw)} series, {sum(map(len, raw.values()))} samples"
    assert first.startswith(f"{output}: {day(-30)} to {day(-1)}, {sizes}, ")
    promtool = "promtool tsdb create-blocks-from --max-block-duration=1200h openmetrics"
    assert following == f"Next: {promtool} {output} DIRECTORY"
    assert {(dict(labels)["job"], dict(labels)["instance"]) for _, labels in raw} == {("edge", "a:1")}
    assert {path.name for path in config.parent.iterdir()} == {"config.yml", "history.om"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--to", day(0)], 2, f"--to must not be after {day(-1)}, the last day that has ended"),
        (["--from", day(-3), "--to", day(-4)], 2, "--from must not be after --to"),
        (["--from", day(2)], 2, "--from must not be after --to"),
        (["--to", "0001-01-05"], 1, "nothing is written for 0001-01-01 to 0001-01-05"),
    ],
)
def test_for_days_without_history_nothing_is_written(config: Path, arguments: list[str], code: int, says: str) -> None:
    ended = backfill(config, *arguments)
    assert (ended.code, says in ended.err) == (code, True), ended.err
    assert not (config.parent / "history.om").exists()


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("budget:", "budgte:", 2, "budgte: unknown key; did you mean 'budget'?"),
        ("name: main", "name: main, dns_zones: {discover: false}, shield_zones: {discover: false}", 1,
         ": no counts were read, or the saved counters contain the counts"),
        (keys.API_KEY, "wrong", 1, "not read: main: a list of resources is incomplete: the platform answered 401"),
        (keys.API_KEY, "wrong, dns_zones: {discover: false, ids: [1]}, scripts: &x {discover: false}, shield_zones: *x",
         1, "not read: main: a list of resources is incomplete: the platform answered 401"),
        ("state.db", "config.yml", 1, "config.yml cannot be read: file is not a database"),
        ("state: {path", "state: {path: null} #", 0, ""),
    ],
)  # fmt: skip
def test_another_configuration_ends_otherwise(config: Path, old: str, new: str, code: int, said: str) -> None:
    config.write_text(config.read_text().replace(old, new))
    ended = backfill(config)
    assert (ended.code, said in ended.err) == (code, True), ended.err
    assert ((config.parent / "history.om").exists(), config.exists()) == (code == 0, True)


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_shard_writes_its_own_targets_and_with_a_shared_state_those_of_all(
    config: Path, request: pytest.FixtureRequest, *, is_shared: bool
) -> None:
    state = f"url: '{request.getfixturevalue('postgres').new_database()}'" if is_shared else f"path: {config}.db"
    text = config.read_text().partition("state:")[0]
    config.write_text(f"{text}state: {{{state}}}\nshard: {{index: 1, total: 3}}\n")
    assert backfill(config).code == 0
    zones = {dict(labels)["zone_id"] for name, labels in parsed(config.parent / "history.om") if "dns" in name}
    assert (len(zones) > 0, len(zones) == 5) == (True, is_shared)


def test_the_saved_state_of_each_collector_is_read(config: Path) -> None:
    stored = [
        PollKey.of("dns_statistics", "main", "dns_zone", "101"),
        PollKey.of("shield_rate_limits", "main", "rate_limit", "3"),
    ]
    write_rows(config.parent / "state.db", dict.fromkeys(stored, StateRow("", 0.0, b"damaged")))
    ended = backfill(config)
    assert (ended.code, ended.err.count("the stored row is damaged")) == (1, 2), ended.err


def test_the_last_day_is_one_that_has_ended_on_the_platform_of_each_account(config: Path) -> None:
    with running(is_present=True, dns_zones=1) as ahead:
        ahead.world.clock.advance(86_400)
        other = f"  - {{name: ahead, base_url: '{ahead.url}', api_key: {keys.API_KEY}}}\nstate:"
        config.write_text(config.read_text().replace("state:", other, 1))
        ended = backfill(config)
    assert (ended.code, f": {day(-30)} to {day(-1)}, " in ended.out) == (0, True), ended.err


def test_databases_have_no_history(config: Path) -> None:
    config.write_text("databases: [{name: a, url: 'libsql://a.example.net', auth_token: t, queries: []}]\n")
    ended = backfill(config)
    assert (ended.code, "there is no account in the configuration" in ended.err) == (2, True), ended.err


def test_a_file_that_is_there_is_not_overwritten(config: Path) -> None:
    (config.parent / "history.om").write_text("mine")
    ended = backfill(config)
    assert (ended.code, "already exists" in ended.err) == (2, True)
    assert (config.parent / "history.om").read_text() == "mine"
    ended = backfill(config, "--output", f"{config}/history.om")
    assert (ended.code, ended.err) == (1, f"cannot write {config}/history.om: Not a directory\n")


def test_what_failed_is_named_and_its_name_steers_no_terminal(config: Path, platform: Platform) -> None:
    platform.world.dns.zones.rename(102, "evil\x1b[2J\x9b31m\u202e\nforged")
    platform.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/102/.*"})
    # If a repeated call succeeds, there is no failure.
    platform.faults.add({"kind": "status", "status": 500, "times": 1, "path": "/dnszone/103/statistics"})
    # A resource that the plan does not have is no failure.
    no_plan = {"status": 403, "body": '{"error": {"success": false, "errorKey": "invalid_plan_type.x"}}'}
    platform.faults.add({"kind": "status", **no_plan, "path_regex": "/shield/metrics/rate-limit/.*"})
    ended = backfill(config)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith(r"not read: main: dns_zone/102 (evil\u001b[2J\u009b31m\u202e\u000aforged): ")
    zones = {dict(labels).get("zone_id") for _, labels in parsed(config.parent / "history.om")}
    assert zones >= {"101", "103"}
    assert "102" not in zones


def test_endpoints_have_the_days_of_their_answers_but_the_oldest_which_may_be_incomplete(
    config: Path, platform: Platform
) -> None:
    alone = "name: main, dns_zones: {discover: false}, scripts: {discover: false}, shield_zones: {discover: false}"
    shipped = (DEPLOY / "endpoints" / "pull_zones.yml").read_text()
    config.write_text(config.read_text().replace("name: main", alone) + shipped)
    refused = backfill(config, "--label", "pull_zone=x")
    assert (refused.code, "--label: found 'pull_zone=x', expected NAME=VALUE" in refused.err) == (2, True), refused.err
    charts = {
        "RequestsServedChart": {day(-3): 9, day(-2): 10},
        "BandwidthUsedChart": {day(-3): 7, day(-1): 5, day(0): 6},
        # The window begins before the first day of this label value.
        "Error5xxChart": {day(-4): 3, day(-3): 4},
        "Error4xxChart": {day(-5): 1, day(-4): 2},
    }
    platform.faults.add({"kind": "status", "status": 200, "body": json.dumps(charts), "path": "/statistics"})
    assert backfill(config).code == 0
    raw = parsed(config.parent / "history.om")
    assert {(name, dict(labels).get("class"), grown(samples)) for (name, labels), samples in raw.items()} == {
        ("edge_pull_zone_requests_total", None, 10),
        ("edge_pull_zone_bandwidth_bytes_total", None, 5),
        ("edge_pull_zone_errors_total", "4xx", 2),
        ("edge_pull_zone_errors_total", "5xx", 7),
    }
