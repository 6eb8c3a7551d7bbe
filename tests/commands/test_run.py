"""`run`: its start, its end, and its messages if it cannot start."""

import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from exporter import __version__
from exporter.daemon.daemon import STOP_SECONDS
from exporter.sandbox import keys
from exporter.settings.flags import flags
from tests.commands.conftest import Configure
from tests.commands.sandbox_thread import Platform
from tests.commands.shell import PROGRAM, invoke, process
from tests.deploy.files import run
from tests.waiting import wait_until

ACCOUNT = """\
accounts: [{name: main, base_url: '{url}', api_key: sandbox-api-key}]
web: {listen: '127.0.0.1:0'}
state: {path: state.db}
"""


@pytest.mark.parametrize(("number", "is_file"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_its_log_begins_with_what_it_goes_by_and_a_signal_ends_it_with_its_state_whole(
    platform: Platform, configure: Configure, tmp_path: Path, number: signal.Signals, *, is_file: bool
) -> None:
    words: tuple[str, ...] = ()
    if is_file:
        path = str(configure(ACCOUNT, url=platform.url))
        environ = {"EDGE_EXPORTER_CONFIG": "config.yml"}
    else:
        words = ("--state.path", "null", "--web.listen", "127.0.0.1:0")
        environ = {"EDGE_EXPORTER_BASE_URL": platform.url, "EDGE_EXPORTER_API_KEY": keys.API_KEY}
    with process("run", "--log.format", "json", *words, environ=environ, cwd=tmp_path) as daemon:
        url = daemon.read_log("serving")["url"]
        reported = daemon.read_log("started")
        assert "edge_exporter_build_info" in httpx.get(url).text
        daemon.send(number)
        ended = daemon.wait()
    del reported["timestamp"], reported["level"]
    assert reported == {
        "event": "started",
        "version": __version__,
        "config": path if is_file else None,
        "state": str(tmp_path / "state.db") if is_file else None,
        "accounts": 1,
        "databases": 0,
    }
    assert (ended.out, ended.code, "Traceback" in ended.err) == ("", 0, False)
    if is_file:
        with closing(sqlite3.connect(tmp_path / "state.db")) as state:
            assert state.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_before_the_start_has_ended_is_kept(
    platform: Platform, configure: Configure, tmp_path: Path, number: signal.Signals
) -> None:
    path = configure(ACCOUNT, url=platform.url)
    with process("run", "--config", path, "--log.format", "json", cwd=tmp_path) as daemon:
        # As soon as the operating system says that the signal is caught, or kept.
        status, held = Path(f"/proc/{daemon.pid}/status"), re.compile(r"^Sig(?:Blk|Cgt):\t(\w+)", re.MULTILINE)
        wait_until(
            lambda: any(int(mask, 16) >> number - 1 & 1 for mask in held.findall(status.read_text())), step=0.001
        )
        daemon.send(number)
        if number == signal.SIGHUP:
            daemon.read_log("started")
            daemon.read_log("configuration loaded")
            daemon.send(signal.SIGTERM)
        assert daemon.wait().code == 0


def test_a_working_directory_that_was_removed_is_named_where_the_state_is_relative_to_it(
    configure: Configure, tmp_path: Path
) -> None:
    path, gone = configure(ACCOUNT, url="http://127.0.0.1:1"), tmp_path / "gone"
    gone.mkdir()
    words = ("-c", 'rmdir ../gone && exec "$@"', "sh", *PROGRAM, "run", "--config", path)
    ended = run("sh", *words, cwd=gone)
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        1,
        "",
        "state.path: 'state.db' is relative to the working directory, which was removed; expected an absolute path\n",
    )


def test_a_state_file_that_another_process_has_is_one_clear_line(
    platform: Platform, configure: Configure, tmp_path: Path
) -> None:
    path = configure(ACCOUNT.replace("state.db", str(tmp_path / "state.db")), url=platform.url)
    with process("run", "--config", path, "--log.format", "json") as first:
        first.read_log("serving")
        ended = invoke("run", "--config", path)
    assert (ended.out, ended.code) == ("", 1)
    assert ended.err == f"{tmp_path}/state.db: another exporter is using this state file\n"


def test_every_flag_of_the_settings_is_in_the_help_of_run_which_others_name() -> None:
    whole = " ".join(invoke("run", "--help").out.split())
    for flag in flags():
        assert f" {flag.name}" in whole
    assert {"true", "5m", "127.0.0.1:9877", "30d", "1000", "info"} <= set(re.findall(r"\[default: ([^]]*)]", whole))
    for said in ("base-url URL", "auth access_key|bearer", "dns-statistics.interval DURATION", "log.level debug|info|"):
        assert said in whole
    assert "--api-key " not in whole
    assert ("end the daemon within five seconds" in whole, STOP_SECONDS < 5) == (True, True)
    shown = invoke("backfill", "--help", environ={"COLUMNS": "80"}).out
    assert len(shown.splitlines()) <= 50
    assert "\nThis command also takes the other flags of `edge-exporter run --help`." in shown
