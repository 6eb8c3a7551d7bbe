"""The command `backfill`: the arguments that it refuses, how it ends, and what it prints."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exporter.backfill.job import Report
from exporter.backfill.samples import Span
from exporter.cli import command
from exporter.commands.backfill.writing import progress_lines
from exporter.counters.lease_table import LeaseTable
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.state_file import StateLock
from exporter.sandbox import keys
from tests.backfill.backfill_setup import parsed
from tests.commands.platform import Platform, running
from tests.commands.terminal import type_in
from tests.postgres import Postgres


@pytest.fixture
def platform() -> Iterator[Platform]:
    with running(is_present=True, dns_zones=5) as served:
        yield served


@pytest.fixture
def config(tmp_path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A machine may be so busy that there would be a line of progress.
    monkeypatch.setattr("exporter.commands.backfill.writing.SAY_SECONDS", math.inf)
    file = tmp_path / "config.yml"
    file.write_text(f"""
accounts:
  - {{name: main, base_url: "{platform.url}", api_key: {keys.API_KEY}, budget: {{requests_per_second: 1000}}}}
state: {{path: {tmp_path / "state.db"}}}
""")
    return file


def backfill(config: Path, *arguments: str) -> Result:
    output = config.parent / "history.om"
    # Through the whole command line, because a command that is called alone has a help option without -h.
    words = ["backfill", "--config", str(config), "--output", str(output), *arguments]
    return CliRunner().invoke(command, words, env={})


def day(ahead: int) -> str:
    return (datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()


def test_a_month_is_written_and_the_next_step_is_named(config: Path) -> None:
    result = backfill(config, "--step", "3h", "--label", "job=edge", "--label", "instance=a:1")
    output = config.parent / "history.om"
    assert (result.exit_code, result.stderr) == (0, "")
    first, following = result.stdout.splitlines()
    assert first.startswith(f"{output}: {day(-29)} to {day(0)}, 11 targets, ")
    assert following == (
        f"Next: promtool tsdb create-blocks-from --max-block-duration=1200h openmetrics {output} DIRECTORY"
    )
    assert f", {sum(map(len, parsed(output).values()))} samples, " in first
    assert output.read_text().endswith("\n# EOF\n")
    assert {dict(labels)["instance"] for _, labels in parsed(output)} == {"a:1"}
    assert not output.with_name("history.om.part").exists()


def test_a_span_may_be_today_alone(config: Path) -> None:
    result = backfill(config, "--from", day(0), "--to", day(0))
    assert (result.exit_code, f"{day(0)} to {day(0)}" in result.stdout) == (0, True), result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--to", day(3)], "reaches into the future"),
        (["--from", day(-3), "--to", day(-4)], "--from and --to: "),
        (["--from", day(2)], "reaches into the future"),
        (["--from", "yesterday"], "expected a UTC day such as"),
        (["--from", "2026-02-08T12:00:00Z"], "charts hold whole days"),
        (["--from", "2026-02-08T00:00:00+01:00"], "charts hold whole days"),
        (["--label", "job"], "expected NAME=VALUE"),
        (["--label", "zone_id=1"], "is a label that the series have already"),
        (["--label", "job=a", "--label", "job=b"], "stands twice"),
        (["--account", "other"], "there is no account 'other'"),
        (["--step", "5m"], "'5m' is not one of '15m', '1h', '3h'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(config: Path, arguments: list[str], says: str) -> None:
    result = backfill(config, *arguments)
    assert (result.exit_code, says in result.stderr) == (2, True), result.stderr
    assert not (config.parent / "history.om").exists()


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("budget:", "budgte:", 2, "budgte: unknown key; did you mean 'budget'?"),
        (keys.API_KEY, "wrong", 1, "401"),
        ("state.db", "config.yml", 1, "config.yml: file is not a database; if the file is damaged, the exporter"),
        ("state: {path", "state: {path: null} #", 0, "the history ends with yesterday"),
    ],
)
def test_another_configuration_ends_otherwise(config: Path, old: str, new: str, code: int, said: str) -> None:
    config.write_text(config.read_text().replace(old, new))
    result = backfill(config)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert ((config.parent / "history.om").exists(), config.exists()) == (code == 0, True)


def test_where_nothing_can_be_read_it_says_that_nothing_is_written(config: Path, platform: Platform) -> None:
    platform.faults.add({"kind": "status", "status": 404, "path_regex": ".*"})
    result = backfill(config, "--zone", "101")
    output = config.parent / "history.om"
    assert (result.exit_code, output.exists()) == (1, False), result.output
    assert f"{output} is not written: there is nothing of " in result.stdout


@pytest.mark.parametrize(("zone", "near"), [("prod-shp.example", "; did you mean 'prod-shop.example'?"), ("9", "")])
def test_a_zone_that_nobody_has_is_refused_and_nothing_is_left(config: Path, zone: str, near: str) -> None:
    result = backfill(config, "--zone", zone)
    assert (result.exit_code, result.stdout) == (2, "")
    # The proposed labels of the shipped scrape configuration come before it.
    assert result.stderr.splitlines()[1:] == [f"--zone: no selected account has a zone {zone!r}{near}"]
    assert list(config.parent.glob("history.om*")) == []


def test_a_zone_that_nobody_has_spoils_no_other_and_is_not_promised(config: Path) -> None:
    result = backfill(config, "--zone", "101", "--zone", "nosuch")
    assert result.exit_code == 1
    assert "not written: dns_zone/nosuch: no selected account has this zone" in result.stderr
    assert "No selected account has these zones: nosuch." in result.stdout
    assert "tries them again" not in result.stdout
    assert [path.name for path in config.parent.glob("history.om*")] == ["history.om"]


def test_a_misspelt_zone_does_not_remove_what_an_earlier_run_has_left(config: Path, platform: Platform) -> None:
    fault = platform.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/102/.*"})
    assert backfill(config, "--zone", "101", "--zone", "102").exit_code == 1
    (config.parent / "history.om").unlink()
    assert backfill(config, "--zone", "nosuch").exit_code == 2
    assert [path.name for path in config.parent.glob("history.om*")] == ["history.om.part"]
    platform.faults.remove(fault.fault_id)
    again = backfill(config, "--zone", "101", "--zone", "102")
    assert (again.exit_code, "2 targets (1 by an earlier run)" in again.stdout) == (0, True)


def test_an_account_may_be_left_out_and_no_chart_is_requested_twice(config: Path, platform: Platform) -> None:
    other = "accounts:\n  - {name: other, base_url: 'http://127.0.0.1:9', api_key: k, dns_zones: {ids: [7]}}"
    config.write_text(config.read_text().replace("accounts:", other).partition("state:")[0] + "state: {path: null}")
    result = backfill(config, "--account", "main")
    assert (result.exit_code, ", 11 targets, " in result.stdout) == (0, True), result.output
    assert [platform.requests.count(("GET", f"/dnszone/{zone}/statistics")) for zone in range(101, 106)] == [1] * 5


def test_a_midnight_is_the_end_of_the_day_before(config: Path) -> None:
    result = backfill(config, "--from", f"{day(-4)}T00:00:00Z", "--to", f"{day(-1)}T00:00:00Z")
    assert f"{day(-4)} to {day(-2)}," in result.stdout


def test_a_file_that_is_there_is_not_overwritten(config: Path) -> None:
    (config.parent / "history.om").write_text("mine")
    result = backfill(config)
    assert (result.exit_code, "is there already" in result.stderr) == (2, True)
    assert (config.parent / "history.om").read_text() == "mine"
    output = config / "history.om"
    result = backfill(config, "--output", str(output))
    said = f"cannot write {output}: Not a directory; the same command continues from here"
    assert (result.exit_code, result.stderr.splitlines()[-1:]) == (1, [said])


@pytest.mark.parametrize(
    ("arguments", "path", "said"),
    [
        ((), "/dnszone/102/.*", ("dns_zone/102 (prod-api.example): ", "11 targets (10 by an earlier run)")),
        (("--zone", "prod-shop.example"), "/search", ("account/main: ", "1 targets")),
    ],
)
def test_what_failed_is_named_and_tried_again_by_the_same_command(
    config: Path, platform: Platform, arguments: tuple[str, ...], path: str, said: tuple[str, str]
) -> None:
    fault = platform.faults.add({"kind": "status", "status": 404, "path_regex": path})
    result = backfill(config, *arguments)
    assert (result.exit_code, f"not written: main: {said[0]}" in result.stderr) == (1, True), result.stderr
    assert "1 could not be read; the same command tries them again." in result.stdout
    platform.faults.remove(fault.fault_id)
    again = backfill(config, *arguments)
    assert (again.exit_code, said[1] in again.stdout) == (0, True), again.stdout


@pytest.mark.parametrize(("number", "last"), [(20, "main: dns_zone/"), (25, "5 more")])
def test_of_many_failures_the_first_are_named_and_the_others_counted(config: Path, number: int, last: str) -> None:
    ids = f"dns_zones: {{ids: {list(range(9001, 9001 + number))}, discover: false}}, api_key"
    config.write_text(config.read_text().replace("api_key", ids))
    failed = [line for line in backfill(config).stderr.splitlines() if line.startswith("not written: ")]
    assert (len(failed), last in failed[-1]) == (min(number, 21), True), failed


def test_the_name_of_a_zone_steers_no_terminal(config: Path, platform: Platform) -> None:
    platform.world.dns.zones.rename(102, "evil\x1b[2J\x9b31m\u202e\nforged")
    platform.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/102/.*"})
    result = backfill(config)
    assert r"not written: main: dns_zone/102 (evil\u001b[2J\u009b31m\u202e\u000aforged): " in result.stderr
    assert [char for char in result.output if not char.isprintable() and char != "\n"] == []


def test_other_arguments_do_not_go_on_with_an_unfinished_file(config: Path, platform: Platform) -> None:
    platform.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/102/.*"})
    backfill(config)
    result = backfill(config, "--from", day(-3))
    assert (result.exit_code, "give the same again, or remove it" in result.stderr) == (2, True)


def test_beside_a_daemon_its_state_is_only_read(config: Path) -> None:
    assert backfill(config).exit_code == 0
    (config.parent / "history.om").unlink()
    before = (config.parent / "state.db").read_bytes()
    lock = StateLock(config.parent / "state.db")
    try:
        result = backfill(config)
    finally:
        lock.release()
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == "A daemon runs: its state is read, and not written."
    assert (config.parent / "state.db").read_bytes() == before


def test_a_database_beside_a_daemon_is_only_read_and_is_written_where_none_runs(
    config: Path, postgres: Postgres
) -> None:
    url = postgres.new_database()
    config.write_text(config.read_text().partition("state:")[0] + f"state: {{url: '{url}'}}\n")
    assert backfill(config).exit_code == 0
    history = (config.parent / "history.om").read_text()
    (config.parent / "history.om").unlink()
    database = StateDatabase(lambda: url, 600.0)
    everyone = Group("default", 0, "")
    before = database.rows(everyone, ())
    assert before
    LeaseTable(database, Group("default", 1, "daemon")).claim(0)
    result = backfill(config)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == "A daemon runs: its state is read, and not written."
    assert database.rows(everyone, ()) == before
    database.close()
    assert (config.parent / "history.om").read_text() == history


@pytest.mark.parametrize("failing", [0, 2])
def test_a_person_at_a_terminal_sees_a_bar(config: Path, platform: Platform, failing: int) -> None:
    # Slow, so that the progress bar is drawn before the work ends.
    config.write_text(config.read_text().replace("requests_per_second: 1000", "requests_per_second: 12"))
    for zone in (101, 102)[:failing]:
        platform.faults.add({"kind": "status", "status": 404, "path_regex": f"/dnszone/{zone}/.*"})
    words = ["backfill", "--config", str(config), "--output", str(config.parent / "history.om")]
    session = type_in(words, [], {}, config.parent / "out")
    assert (config.parent / "out").read_text().startswith(f"{config.parent / 'history.om'}: ")
    drawn = {
        (int(done), int(targets), int(failed))
        for done, targets, failed in re.findall(
            r"targets \S+ +(\d+)/(\d+) \S+ (\d+) failed", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", session.seen)
        )
    }
    assert {targets for _, targets, _ in drawn} == {11}
    assert len({done for done, _, _ in drawn}) > 1, session.seen
    assert max(failed for _, _, failed in drawn) == failing


def test_elsewhere_a_line_now_and_then_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    progressed = progress_lines(lambda: now)
    report = Report(Span(date(2026, 2, 1).toordinal(), date(2026, 2, 28).toordinal()), targets=100, resumed=40)
    for second in range(31):
        now, report.done = float(second), 40 + second
        progressed(report)
    assert capsys.readouterr().err.splitlines() == [
        f"{done} of 100 targets, 0 failed, about 0:00:{left} left" for done, left in ((50, 50), (60, 40), (70, 30))
    ]
