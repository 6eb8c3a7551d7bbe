"""The daemon as a whole, over real sockets."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import bcrypt
import httpx
import pytest
import yaml
from structlog.testing import capture_logs

import exporter
from exporter.counters.storage import MemoryStorage, ShardTakenError
from exporter.daemon import event_loop
from exporter.daemon.daemon import Daemon, run
from exporter.exposition.exposition import Exposition
from exporter.sandbox import keys
from exporter.settings.loading import load
from exporter.settings.model import Settings
from tests.counters.sandboxed_daemons import RunningDaemon, running_daemon
from tests.exporter_parts import Sandbox, configuration, poll_now, sandbox, settled, still
from tests.waiting import PATIENCE, until

EXPORTER = str(Path(exporter.__file__).parent)
FILE = """
accounts:
  - name: main
    base_url: {url}
    api_key_file: {key}
    budget: {{requests_per_second: 1000, max_in_flight: 8}}
web: {{listen: "127.0.0.1:0"}}
state: {{path: {state}}}
"""


class ConfiguredSandbox:
    """A sandbox, a configuration file for it, and the daemons of that configuration."""

    def __init__(self, folder: Path, platform: Sandbox) -> None:
        self.sandbox = platform
        self.world = platform.world
        self.faults = platform.faults
        self.config = folder / "config.yml"
        self.key = folder / "key"
        self.state = folder / "state.db"
        self.key.write_text(keys.API_KEY + "\n")
        self.write(FILE)

    def write(self, text: str, **more: str) -> None:
        """Write the configuration file."""
        self.config.write_text(text.format(url=self.sandbox.url, key=self.key, state=self.state, **more))

    async def reload(self, daemon: Daemon, text: str, **more: str) -> None:
        """Write the configuration file, and reload it."""
        self.write(text, **more)
        assert await daemon.reload() == ()

    def load(self) -> Settings:
        """Read the configuration file."""
        return load(self.config, {}, {})

    def daemon(self) -> AbstractAsyncContextManager[RunningDaemon]:
        """Run a daemon, and reload that file."""
        return running_daemon(self.load)


@pytest.fixture
async def configured(tmp_path: Path) -> AsyncIterator[ConfiguredSandbox]:
    """A folder, and a sandbox whose time does not pass."""
    async with sandbox(still(dns_zones=3)) as platform:
        yield ConfiguredSandbox(tmp_path, platform)


async def scraped(daemon: Daemon, client: httpx.AsyncClient, name: str) -> dict[str, float]:
    """Return series → value of a family, after the first round of polls of all accounts that answer."""
    await until(daemon.work.schedule.all_discovered)
    for _ in range(1000):
        await settled(daemon.work)
        lines = [line for line in (await client.get("/metrics")).text.splitlines() if line.startswith(name + "{")]
        if lines:
            return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}
        await asyncio.sleep(0.01)
    raise AssertionError(f"{name} never came")


async def test_two_variables_suffice(configured: ConfiguredSandbox) -> None:
    given = {"--web.listen": "127.0.0.1:0", "--state.path": "null"}
    environ = {"EDGE_EXPORTER_BASE_URL": configured.sandbox.url, "EDGE_EXPORTER_API_KEY": keys.API_KEY}
    async with running_daemon(lambda: load(None, given, environ)) as (daemon, client):
        assert len(await scraped(daemon, client, "edge_dns_window_queries")) == 3
        assert await scraped(daemon, client, "edge_shield_rate_limit_window_breaches_overall")
        # A loop that is blocked for longer than the measuring interval is late by the difference.
        time.sleep(event_loop.LAG_EVERY_SECONDS + 0.5)  # noqa: ASYNC251 - it is what keeps the loop
        lag = "edge_exporter_loop_lag_seconds_sum"
        await until(lambda: (daemon.telemetry.registry.get_sample_value(lag) or 0) > 0.4)


async def test_a_wrong_key_is_healthy_and_not_ready_until_a_reload_puts_it_right(configured: ConfiguredSandbox) -> None:
    configured.write(FILE.replace("api_key_file: {key}", "api_key: wrong"))
    async with configured.daemon() as (daemon, client):
        await until(lambda: daemon.work.schedule.accounts["main"].client.credential.problem != "")
        await settled(daemon.work)
        answer = await client.get("/-/ready")
        assert (answer.status_code, answer.text) == (503, "not ready: the credential of main is not accepted\n")
        assert (await client.get("/-/healthy")).status_code == 200
        assert 'edge_up{account="main"} 0.0' in (await client.get("/metrics")).text
        absences = (await client.get("/api/v1/explain?family=edge_dns_queries_total")).json()["absences"]
        assert {absence["cause"] for absence in absences} == {"failing"}
        await configured.reload(daemon, FILE)
        assert await scraped(daemon, client, "edge_dns_window_queries"), "polled at once"
        assert (await client.get("/-/ready")).status_code == 200


async def test_a_refused_reload_leaves_the_web_configuration_as_it_was(
    configured: ConfiguredSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = tmp_path / "web.yml"
    web.write_text("{}")
    written = FILE.replace('"127.0.0.1:0"', f'"127.0.0.1:0", config_file: "{web}"')
    configured.write(written)
    async with configured.daemon() as (daemon, client):
        web.write_text("http_server_config: {headers: {X-Frame-Options: sameorigin}}\n")
        configured.write(written + "databases: [{{name: far, url: 'http://platform.invalid', auth_token: none}}]\n")
        monkeypatch.setenv("HTTP_PROXY", "socks5://proxy.example.net")
        assert len(await daemon.reload()) == 1
        assert (await client.get("/metrics")).headers["x-frame-options"] == "DENY"
        for text in (written, written.replace("web.yml", "renamed.yml"), FILE):
            await configured.reload(daemon, text)
            assert (await client.get("/metrics")).headers["x-frame-options"] == "sameorigin"
            if web.exists():
                web.rename(tmp_path / "renamed.yml")


async def test_a_scrape_right_after_a_reload_shows_its_result_and_a_wrong_file_changes_nothing(
    configured: ConfiguredSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with configured.daemon() as (daemon, client):

        async def loaded(what: str = "successful") -> float:
            text = (await client.get("/metrics", params={"name[]": f"edge_exporter_config_last_reload_{what}"})).text
            whole = (await client.get("/metrics")).text
            assert text.splitlines()[-1] in whole.splitlines()
            return float(text.split()[-1])

        before, at = await scraped(daemon, client, "edge_dns_queries_total"), await loaded("success_timestamp_seconds")
        assert (await loaded(), at > 0) == (1.0, True)
        configured.write(FILE.replace("budget:", "budgit:"))
        with capture_logs() as logs:
            answer = await client.post("/-/reload")
        wrong = f"{configured.config}:6: accounts[0].budgit: unknown key; did you mean 'budget'?\n"
        assert (answer.status_code, answer.text, await loaded()) == (400, wrong, 0.0)
        assert [line["event"] for line in logs] == ["configuration refused, the old one stays in force"]
        assert await scraped(daemon, client, "edge_dns_queries_total") == before
        assert await loaded("success_timestamp_seconds") == at
        changed = FILE.replace("{state}", "null").replace("budget:", "timeout: 11s\n    budget:")
        monkeypatch.setattr(daemon.server, "limit_clients", limit_clients := Mock())
        changed += "dashboard_url: https://grafana.example\nshard: {{total: 4}}\nlog: {{level: {level}}}\n"
        for level in ("info", "error"):
            configured.write(changed, level=level)
            with capture_logs() as logs:
                answer = await client.post("/-/reload")
            assert (answer.status_code, answer.text, await loaded()) == (200, "reloaded\n", 1.0)
            assert [line["sections"] for line in logs if line["event"].startswith("restart")] == [["state", "shard"]]
        assert limit_clients.mock_calls == [call(8)] * 2
        (account,) = daemon.work.schedule.accounts.values()
        assert (account.client.timeout, account.client.rate_limiter.rate) == (11.0, 1000.0), "no quarter of it"
        assert (logging.getLogger().level, await loaded("success_timestamp_seconds") > at) == (logging.ERROR, True)
        assert 'href="https://grafana.example/' in (await client.get("/target/account/main")).text
        await configured.reload(daemon, FILE.replace("{url}", configured.sandbox.url.replace("http", "HTTP")))
        assert "\nedge_dns_queries_total{" in (await client.get("/metrics")).text, "it is the same address"
        assert (logging.getLogger().level, await loaded()) == (logging.WARNING, 1.0)
        monkeypatch.setattr(daemon, "load", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await daemon.reload()
        await daemon.work.renderer.render()
        assert await loaded() == 0.0


async def test_a_stop_that_is_cancelled_closes_the_connections(configured: ConfiguredSandbox) -> None:
    async with configured.daemon() as (daemon, client):
        await scraped(daemon, client, "edge_dns_window_queries")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await daemon.work.stop()
        assert not await daemon.work.accounts.try_keys()


@asynccontextmanager
async def running_process(settings: Settings, load: Callable[[], Settings]) -> AsyncIterator[None]:
    """Run a daemon that owns this process: it handles the signals, and tunes the garbage collector and the threads."""
    turn, thresholds = sys.getswitchinterval(), gc.get_threshold()
    started = asyncio.Event()
    gc.unfreeze()
    running = asyncio.create_task(run(settings, load, lambda _daemon: started.set()))
    try:
        await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL, "a reload that comes too early ends nothing"
        os.kill(os.getpid(), signal.SIGHUP)
        # Before it has started, a signal would end this process.
        await until(lambda: started.is_set() or running.done())
        yield
    finally:
        if not running.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await running
        gc.unfreeze()
        sys.setswitchinterval(turn)
        gc.set_threshold(*thresholds)


async def test_a_signal_reloads_and_the_log_says_what_broke_that(configured: ConfiguredSandbox) -> None:
    load = Mock(side_effect=[configured.load(), ZeroDivisionError])
    async with running_process(configured.load(), load):
        await until(lambda: load.called, "the reload that a signal before the end of the start has asked for")
        await until(lambda: "reload" not in [task.get_name() for task in asyncio.all_tasks()])
        with capture_logs() as logs:
            os.kill(os.getpid(), signal.SIGHUP)
            # The log line is written by a callback, after the task has ended.
            await until(lambda: "background task failed" in [line["event"] for line in logs])
        assert [line["work"] for line in logs if line["event"] == "background task failed"] == ["reload"]


async def test_a_reload_whose_file_cannot_be_read_in_time_is_refused_and_the_next_one_works(
    configured: ConfiguredSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.daemon.daemon.LOAD_SECONDS", 0.2)
    hangs, answered = threading.Event(), threading.Event()

    def load() -> Settings:
        if hangs.is_set():
            answered.wait()
        return configured.load()

    async with running_daemon(load) as (daemon, client):
        hangs.set()
        assert (await client.post("/-/reload")).text == "the configuration was not read within 0.2 s\n"
        assert "edge_exporter_config_last_reload_successful 0.0\n" in (await client.get("/metrics")).text
        hangs.clear()
        answered.set()
        monkeypatch.undo()
        assert await daemon.reload() == ()


async def test_a_reload_keeps_what_is_told_of_collectors_and_nothing_of_one_that_it_switches_off(
    configured: ConfiguredSandbox,
) -> None:
    families = ("edge_exporter_collector_interval_seconds", "edge_exporter_collector_duration_seconds")
    async with configured.daemon() as (daemon, client):
        await scraped(daemon, client, "edge_dns_record_scan_found")
        before = [set(await scraped(daemon, client, name)) for name in families]
        await configured.reload(daemon, FILE + "collectors: {{dns_record_scans: {{enabled: false}}}}\n")
        after = [set(await scraped(daemon, client, name)) for name in families]
        gone = [{f'{name}{{collector="dns_record_scans"}}'} for name in families]
        assert [old - new for old, new in zip(before, after, strict=True)] == gone
        # The targets are not due again for minutes.
        collectors = (await client.get("/api/v1/status")).json()["collectors"]
        assert [one["last_duration"] is None for one in collectors if one["collector"] == "dns_statistics"] == [False]


async def test_a_reload_adds_changes_at_once_and_removes_without_trace_accounts_and_databases(
    configured: ConfiguredSandbox,
) -> None:
    image = "{{registry_id: 12, namespace: team, name: image-worker, watch_tags: ['{number}']}}"
    other = f"  - {{{{name: other, base_url: {{url}}, api_key_file: {{key}}, images: [{image}]}}}}\n"
    query = "{{name: n, sql: 'SELECT {number} AS value', interval: 1h}}"
    database = f"databases: [{{{{name: orders, url: '{{url}}', auth_token: {{token}}, queries: [{query}]}}}}]\n"
    token, added = keys.DATABASE_TOKEN_READ_ONLY, FILE.replace("web:", other + "web:") + database
    async with configured.daemon() as (daemon, client):
        await until(daemon.work.schedule.all_discovered)
        stall = configured.faults.add({"kind": "stall", "point": "start", "path": "/mc/registries/tags", "times": 1})
        await configured.reload(daemon, added, token=token, number="0")
        await until(lambda: stall.hits == 1, "a poll that the next reload replaces")
        for number in (1, 2):
            await configured.reload(daemon, added, token=token, number=str(number))
            await settled(daemon.work)
            assert await scraped(daemon, client, "edge_database_n") == {'edge_database_n{database="orders"}': number}
            assert f'tag="{number}"' in str(await scraped(daemon, client, "edge_container_image_tag_present"))
            assert 'edge_up{account="other"}' in (await client.get("/metrics")).text
        assert "orders" in str(await scraped(daemon, client, "edge_database_up"))
        assert '"other"' in str(await scraped(daemon, client, "edge_api_requests_total"))
        await configured.reload(daemon, FILE)
        text = (await client.get("/metrics")).text
        assert [line for line in text.splitlines() if 'account="other"' in line or "orders" in line] == []
        assert 'edge_api_requests_total{account="main"' in text
        await configured.reload(daemon, added, token=token, number="1")
        await settled(daemon.work)
        assert '"other"' in str(await scraped(daemon, client, "edge_api_requests_total")), "it counts again"
        await configured.reload(daemon, FILE[FILE.index("web:") :] + database, token=token, number="1")
        assert (await client.get("/-/ready")).text == "ready\n", "it has an answer of its only database"
        assert await daemon.work.accounts.try_keys(), "it has no key to try"


async def test_a_reload_replaces_what_differs_and_polls_that_at_once_while_the_polls_of_all_else_go_on(
    configured: ConfiguredSandbox,
) -> None:
    stall = configured.faults.add({"kind": "stall", "point": "start", "path_regex": "/dnszone/.*/statistics"})
    async with configured.daemon() as (daemon, client):
        await until(lambda: stall.hits == 3)
        running = {key: due for key, due in daemon.work.schedule.running.items() if key.collector == "dns_statistics"}
        account, plans = daemon.work.schedule.accounts["main"], daemon.work.schedule.plans
        targets = dict(daemon.work.registry.by_key)
        for content in (FILE, FILE + "series: {{max_label_values: 500}}\n"):
            await configured.reload(daemon, content)
        await configured.reload(daemon, FILE.replace("    base_url", "    searches: [prod]\n    base_url"))
        assert running.items() <= daemon.work.schedule.running.items()
        assert daemon.work.schedule.accounts["main"] is account, "what selects targets concerns no client"
        assert all(daemon.work.schedule.plans[name] is plan for name, plan in plans.items())
        assert all(daemon.work.registry.by_key[key] is target for key, target in targets.items())
        assert stall.hits == 3
        # Another timeout makes a new client: its polls begin again, and no target is polled twice at once.
        await configured.reload(daemon, FILE.replace("    base_url", "    timeout: 9s\n    base_url"))
        assert 'edge_up{account="main"} 1.0\n' in (await client.get("/metrics")).text, "it has answered before"
        await until(lambda: stall.hits == 6)
        assert running.keys() <= daemon.work.schedule.running.keys()
        assert daemon.work.schedule.accounts["main"] is not account
        configured.faults.clear()
        await configured.reload(daemon, FILE)
        assert len(await scraped(daemon, client, "edge_dns_window_queries")) == 3


async def test_a_reload_takes_over_which_families_are_served(configured: ConfiguredSandbox) -> None:
    async with configured.daemon() as (daemon, client):
        await scraped(daemon, client, "edge_dns_window_queries")
        denying = FILE + "series: {{deny: [edge_dns_window_.*, edge_script_.*, edge_api_retries_.*]}}\n"
        await configured.reload(daemon, denying)
        assert await scraped(daemon, client, "edge_dns_queries_total")
        text = (await client.get("/metrics")).text
        assert "edge_dns_window_" not in text
        assert "\nedge_script_" not in text
        assert "edge_api_retries_" not in text, "also what the exporter tells of itself"
        denied = "name[]=edge_dns_window_queries&name[]=edge_api_retries_total"
        assert (await client.get(f"/metrics?{denied}")).text == ""
        await configured.reload(daemon, FILE)
        # A collector that is needed again is polled at once.
        assert await scraped(daemon, client, "edge_script_monthly_requests")
        # An unchanged answer is read again, because not all of its families were served before.
        await settled(daemon.work)
        await poll_now(daemon.work, "dns_statistics")
        assert await scraped(daemon, client, "edge_dns_window_queries")


async def test_an_account_that_is_refused_keeps_the_rest_neither_from_being_polled_nor_from_being_ready(
    configured: ConfiguredSandbox,
) -> None:
    configured.write(FILE.replace("web:", "  - {{name: second, base_url: {url}, api_key: wrong}}\nweb:"))
    async with configured.daemon() as (daemon, client):
        await until(lambda: daemon.work.schedule.accounts["second"].client.credential.problem != "")
        await settled(daemon.work)
        assert await scraped(daemon, client, "edge_dns_window_queries")
        assert (await client.get("/-/ready")).status_code == 200


async def test_names_that_hang_in_the_resolver_keep_nothing_else(
    configured: ConfiguredSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, ends, resolve = tmp_path / "web.yml", threading.Event(), socket.getaddrinfo
    web.write_text(f"basic_auth_users: {{me: {bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()}}}\n")

    def hang(host: str, *more: Any, **named: Any) -> Any:
        if "hangs" in host:
            ends.wait(PATIENCE)
        return resolve(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    databases = [{"name": f"d{one}", "url": f"http://hangs{one}.example", "auth_token": "t"} for one in range(7)]
    own = yaml.safe_load(configured.config.read_text()) | {"databases": databases}
    configured.config.write_text(yaml.safe_dump(own | {"web": {"listen": "127.0.0.1:0", "config_file": str(web)}}))
    try:
        async with configured.daemon() as running, asyncio.timeout(PATIENCE / 2):
            running.client.auth = httpx.BasicAuth("me", "secret")
            await until(running.daemon.work.accounts.is_authenticated, "the good account's answer")
            assert (await running.client.post("/-/reload")).text == "reloaded\n"
            assert "edge_up" in await running.text()
            assert "dns_statistics" in (await running.client.get("/")).text
    finally:
        ends.set()


async def test_a_key_file_is_read_when_threads_can_be_started_again(
    configured: ConfiguredSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = threading.Thread.start, list[str]()

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("key file") and len(refused) < 5:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    async with configured.daemon() as running:
        await until(running.daemon.work.accounts.is_authenticated, "a call with the key")
    assert len(refused) == 5


async def test_a_renderer_that_broke_is_said_and_unhealthy(
    configured: ConfiguredSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with configured.daemon() as (daemon, client):
        await until(daemon.work.schedule.all_discovered)
        assert (await client.get("/-/healthy")).status_code == 200
        rounds = {"cleaning", "log", "lists", "absences", "targets", "renderer"}
        assert (await client.get("/api/v1/status")).json()["rounds"].keys() == rounds
        with capture_logs() as logs:
            monkeypatch.setattr(Exposition, "build", lambda *_, **__: 1 / 0)
            await until(lambda: any(line["event"] == "task fails" for line in logs))
            last = daemon.work.tasks.rounds["renderer"]
            ended = last.ended_at
            await until(lambda: last.ended_at > ended, "the end of a round that failed")
        assert [(line["task"], line["error"]) for line in logs if line["event"] == "task fails"] == [
            ("renderer", "ZeroDivisionError('division by zero')")
        ]
        monkeypatch.setattr("exporter.exposition.renderer.LONGEST_SILENCE", 0.0)
        answer = await client.get("/-/healthy")
        assert (answer.status_code, answer.text.splitlines()[0]) == (503, "the exposition has stalled")
        failed_at = daemon.machine.clocks.wall()
        with capture_logs() as logs:
            monkeypatch.undo()
            await until(lambda: (last.succeeded_at or 0.0) >= failed_at, "a later round")
            monkeypatch.setattr(Exposition, "build", lambda *_, **__: 1 / 0)
            await until(lambda: any(line["event"] == "task fails" for line in logs), "a second failure")
        assert [line["event"] for line in logs if "task" in line] == ["task works again", "task fails"]
        assert 'edge_exporter_task_failures_total{task="renderer"} 0' not in (await client.get("/metrics")).text


async def test_no_secret_is_in_any_page_metric_log_or_the_state_file(
    configured: ConfiguredSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as logs:
        async with configured.daemon() as (daemon, client):
            await scraped(daemon, client, "edge_script_info")
            await settled(daemon.work)
            assert await daemon.reload() == ()
            pages = [(await client.get(path)).text for path in ("/metrics", "/", "/api/v1/targets", "/api/v1/status")]
            shown = [repr(daemon.settings), repr(daemon.__dict__), str(logs), *pages]
    # A reload configures the log again.
    shown += capsys.readouterr()
    assert ["serving" in text or "configuration loaded" in text for text in (str(logs), *shown[-2:])].count(True) == 2
    state = b"".join(path.read_bytes() for path in configured.state.parent.iterdir() if path != configured.key)
    for secret in (keys.API_KEY, keys.DEPLOYMENT_KEY_PREFIX, keys.DEFAULT_VALUE_PREFIX):
        assert all(secret not in text for text in shown)
        assert secret.encode() not in state


async def test_a_budget_is_that_of_all_scripts_of_its_name_or_of_an_id_and_one_without_a_script_is_reported(
    configured: ConfiguredSandbox,
) -> None:
    scripts = configured.world.scripts
    first = next(iter(scripts.scripts))
    name, by_id = scripts.scripts.name(first), scripts.add_script("by-id")
    both = (first, scripts.add_script(name))
    budgets = f"scripts: {{{{monthly_budget_dollars: {{{{{name}: 20, {by_id}: 7, by-id: 6, gone: 5}}}}}}}}\n    budget:"
    configured.write(FILE.replace("budget:", budgets))
    family, unmatched = "edge_script_monthly_budget_dollars", "edge_exporter_script_budget_unmatched"

    async def until_budgets(daemon: Daemon, client: httpx.AsyncClient, expected: Mapping[str, float]) -> None:
        async with asyncio.timeout(PATIENCE):
            while await scraped(daemon, client, family) != expected:
                daemon.work.show()

    async with configured.daemon() as (daemon, client):
        await until_budgets(daemon, client, {_budget(by_id, "by-id"): 6} | {_budget(one, name): 20 for one in both})
        for missing in ({"gone"}, {"gone", "by-id", name}):
            found = {script: float(script in missing) for script in (name, str(by_id), "by-id", "gone")}
            expected = {f'{unmatched}{{account="main",script="{script}"}}': count for script, count in found.items()}
            assert await scraped(daemon, client, unmatched) == expected
            for one in (*both, by_id):
                scripts.rename_script(one, "an\0other")
            await poll_now(daemon.work, "scripts")
            await until_budgets(daemon, client, {_budget(by_id, "an\N{REPLACEMENT CHARACTER}other"): 7})


def _budget(script_id: int, name: str) -> str:
    return f'edge_script_monthly_budget_dollars{{account="main",script="{name}",script_id="{script_id}"}}'


class OtherHolder(MemoryStorage):
    """A storage whose only shard another exporter takes."""

    has_answered, obstacle, locks, is_taken = True, "", SimpleNamespace(held=None), False

    async def claim(self) -> int:
        """Return the shard."""
        return 0

    async def keep_open(self) -> bool:
        """Keep the shard, or find it taken."""
        if self.is_taken:
            raise ShardTakenError("another exporter has taken the shard")
        return True


async def test_a_stop_that_finds_its_shard_taken_seeks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, more = OtherHolder(), {"state": {"url": "postgresql://u:p@127.0.0.1:9/state"}, "shard": {"index": "auto"}}
    monkeypatch.setattr("exporter.daemon.daemon.postgres_storage", lambda *_: storage)
    settings = configuration("http://127.0.0.1:9", {}, more)
    before = asyncio.all_tasks()
    daemon = await Daemon.start(settings, lambda: settings)
    storage.is_taken = True
    await daemon.stop()
    names = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not names & {"shard", "ledger", "lists", "poll"}
