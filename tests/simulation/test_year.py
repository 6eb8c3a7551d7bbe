"""A year in a minute: the whole daemon on virtual time, while everything around it goes wrong.

After each step the increase of each counter, as Prometheus would compute it, is within what the disk has of the
platform's answers; nothing is served beyond its deadline or of a former configuration; no call is above the budget.
When all is well again for two hours, nothing is missing, every target is polled, and nothing is left behind.
"""

import asyncio
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from structlog.testing import capture_logs

from exporter.settings.model import Settings
from tests.simulation.books import COUNTERS, Books
from tests.simulation.machine import Disk, Samples, SimulatedMachine, rarer_rounds, samples
from tests.simulation.planted import planted
from tests.simulation.virtual import VirtualClock
from tests.simulation.world import FAULTS, KEYS, Fault, Platform, Script, World, Zone, calls_in

BEGIN = datetime(2026, 2, 26, 9, 30, tzinfo=UTC).timestamp()
DAY = 86_400
INTERVAL = 1800.0
RATE = 5.0
# Between a deadline and the next generation without the series.
SLACK = 20.0
POLLED = ("dns_statistics", "scripts", "shield_rate_limits", "discovery")
OTHERS = (
    *("dns_record_scans", "shield_zones", "shield_api_guardian", "shield_bot_detection", "shield_access_lists"),
    *("shield_waf_custom_rules", "shield_waf_plans", "container_tags", "search", "database"),
)
UNEXPECTED = ("background task failed", "poll broke", "row cannot be stored", "state file put aside")

ZONES, SCRIPTS, LIMITS = st.sampled_from([101, 102, 103]), st.sampled_from([7, 8]), st.just(41)
AMOUNTS = st.sampled_from([1, 10, 1_000_000])
DAYS_BACK = st.sampled_from([0, 0, 1, 2, 12, 27, 28])
SECONDS = st.sampled_from([1, 20, 300, 1800, 2 * 3600])
PATHS = st.sampled_from(["", "/search", "/dnszone/101", "/dnszone", "/compute", "/shield"])


class Year(RuleBasedStateMachine):
    """The platform, the machine and its daemon."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="year-"))
        self.clock = VirtualClock(BEGIN)
        self.world = World(self.clock)
        self.platform = Platform(self.world)
        self.books = Books(self.platform.shown)
        self.disk = Disk(
            self.folder / "state.db",
            lambda rows, is_acknowledged: self.books.wrote(self.platform.life, rows, is_acknowledged=is_acknowledged),
        )
        self.configured: dict[str, Any] = {}
        self.account: dict[str, Any] = {}
        self.removed: dict[int, Zone] = {}
        self.contexts = ExitStack()

    @initialize(seed=st.integers(0, 1000))
    def make_the_world(self, seed: int) -> None:
        """Begin with three zones, two scripts, and a rate limit, and start the daemon."""
        self.contexts.enter_context(planted(os.environ.get("PLANTED", "")))
        self.contexts.enter_context(rarer_rounds())
        self.logged = self.contexts.enter_context(capture_logs())
        today = int(BEGIN // DAY) + 719_163
        for number, rate in ((101, 3.0), (102, 0.01), (103, 50.0)):
            self.world.zones[number] = Zone(f"zone{number}.example", rate, today - 10)
        for number, rate in ((7, 1.5), (8, 0.0)):
            self.world.scripts[number] = Script(f"script{number}", rate)
        self.world.breaches[41] = {"logged": Counter(), "blocked": Counter()}
        numbers = random.Random(seed)  # noqa: S311 - no secret
        self.machine = SimulatedMachine(self.clock, self.platform, self.disk, self.load, numbers.random)
        self._start()

    def load(self) -> Settings:
        """Return the settings of the file."""
        account = {
            "name": "main",
            "base_url": "http://platform.example",
            "api_key": KEYS[self.account.get("name", "main")],
            "budget": {"requests_per_second": RATE, "max_in_flight": 4},
            "dns_zones": {"discover": True},
            "scripts": {"discover": True},
            "shield_zones": {"discover": False},
            "rate_limits": [{"id": 41, "name": "limit", "shield_zone_id": 5}],
            **self.account,
        }
        collectors = {name: {"enabled": False} for name in OTHERS} | {name: {"interval": INTERVAL} for name in POLLED}
        return Settings.model_validate(
            {
                "accounts": [account],
                "collectors": collectors,
                # Longer than any step of the wall clock: what a wrong clock forgets early, docs/limitations.md has.
                "state": {"path": str(self.disk.path), "retention": "36500d"},
                **self.configured,
            }
        )

    def _start(self) -> None:
        self.platform.life += 1
        self.machine.begin()
        self._pass(5)

    # Time.

    def _pass(self, seconds: float) -> None:
        """Let the daemon run, and scrape it: more often at first, because counters that start again are 0 then."""
        until = self.clock.elapsed + seconds
        pause = 20.0
        while (left := until - self.clock.elapsed) > 0:
            self.machine.pass_time(min(left, pause))
            self._scrape()
            pause = 20.0 if self._is_new_address() else min(1800.0, pause * 2)

    def _is_new_address(self) -> bool:
        latest = [answers[-2:] for answers in self.platform.shown.values()]
        now = self.clock.true()
        return any(len({one.host for one in pair}) > 1 and now - pair[-1].at < 300 for pair in latest)

    @rule(seconds=SECONDS)
    def let_time_pass(self, seconds: float) -> None:
        """Let the daemon run."""
        self._pass(seconds)
        self._check()

    @rule()
    def run_into_the_next_day(self) -> None:
        """Run from before midnight to after it."""
        self._suspend(DAY - self.clock.true() % DAY - 600)
        self._pass(1200)
        self._check()

    @rule(days=st.sampled_from([1, 3, 20, 40]))
    def sleep_at_night(self, days: int) -> None:
        """Suspend the machine for most of each day."""
        for _ in range(days):
            self._suspend(DAY - 900)
            self._pass(900)
        self._check()

    def _suspend(self, seconds: float) -> None:
        self.clock.suspend(max(0.0, seconds))
        # What wakes first is not determined.
        self.machine.pass_time(SLACK)

    @rule(step=st.sampled_from([-3600.0, 3600.0, 7.0 * DAY, -20_000.0 * DAY, 0.0]))
    def set_the_wall_clock(self, step: float) -> None:
        """Set the machine's clock wrong, or right."""
        self.clock.step = step
        self._pass(300)
        self._check()

    # The platform.

    @rule(zone=ZONES, amount=AMOUNTS, back=DAYS_BACK, falls=st.booleans())
    def correct_a_zone(self, zone: int, amount: int, back: int, *, falls: bool) -> None:
        """Change the queries of a day."""
        if zone in self.world.zones:
            self.world.zones[zone].extra[self.world.now().toordinal() - back] += -amount if falls else amount
        self._pass(1)
        self._check()

    @rule(script=SCRIPTS, amount=AMOUNTS)
    def run_a_script(self, script: int, amount: int) -> None:
        """Add requests to the month."""
        now = self.world.now()
        self.world.scripts[script].extra[now.year, now.month] += amount
        self._pass(1)
        self._check()

    @rule(limit=LIMITS, action=st.sampled_from(["logged", "blocked"]), amount=AMOUNTS, back=DAYS_BACK)
    def breach(self, limit: int, action: str, amount: int, back: int) -> None:
        """Breach a rate limit, perhaps as seen late."""
        self.world.breaches[limit][action][self.world.now().toordinal() - back] += amount
        self._pass(1)
        self._check()

    @rule(zone=ZONES)
    def delete_or_restore_a_zone(self, zone: int) -> None:
        """Delete a zone, or have it again."""
        there, gone = (self.world.zones, self.removed)[:: 1 if zone in self.world.zones else -1]
        gone[zone] = there.pop(zone)
        self._pass(1)
        self._check()

    @rule(zone=ZONES)
    def rename_a_zone(self, zone: int) -> None:
        """Give a zone another name."""
        if zone in self.world.zones:
            self.world.zones[zone].name = f"renamed{self.clock.elapsed:.0f}.example"
        self._pass(1)
        self._check()

    @rule(left_out=st.sampled_from([0, 1, 3]))
    def list_wrong(self, left_out: int) -> None:
        """Leave something out of several lists, or show an empty one once."""
        self.platform.short, self.platform.is_empty = left_out, not left_out
        before = self.world.zones.keys() & self._listed()
        self._pass(INTERVAL * (2.5 if left_out else 0.9))
        self.platform.short, self.platform.is_empty = 0, False
        # A good list comes before the next empty one.
        self._pass(INTERVAL * 1.2)
        assert before <= self._listed(), "short lists, and one that is empty, remove nothing"
        self._check()

    def _listed(self) -> set[int]:
        """Return the zones that are polled."""
        targets = {dict(labels)["target"] for labels in self._scrape().get("edge_target_up", {})}
        return {int(one.partition("/")[2]) for one in targets if one.startswith("dns_zone/")}

    @rule(path=PATHS, kind=st.sampled_from(sorted(FAULTS)), times=st.sampled_from([1, 3, 1000]), seconds=SECONDS)
    def answer_wrong(self, path: str, kind: str, times: int, seconds: float) -> None:
        """Answer some calls badly."""
        self.platform.faults.append(Fault(path, kind, times))
        self._pass(seconds)
        self._check()

    # The machine and the daemon's process.

    @rule(mode=st.sampled_from(["good", "fails", "unsure"]), delay=st.sampled_from([0.0, 0.3, 8.0]), seconds=SECONDS)
    def trouble_the_disk(self, mode: str, delay: float, seconds: float) -> None:
        """Let writes fail or take long, or be good again."""
        self.disk.mode = mode
        self.machine.executor("state").delay = delay
        self._pass(seconds)
        self._check()

    @rule(seconds=SECONDS)
    def kill(self, seconds: float) -> None:
        """Kill the daemon, and start it later."""
        self.machine.kill()
        self.clock.elapsed += seconds
        self._start()
        self._check()

    @rule(seconds=SECONDS)
    def restart(self, seconds: float) -> None:
        """Stop the daemon, and start it later."""
        self._stop()
        self.clock.elapsed += seconds
        self._start()
        self._check()

    def _stop(self) -> None:
        left = self.machine.end()
        assert not left, left
        strange = [one for one in self.logged if one["event"] in UNEXPECTED]
        assert not strange, strange

    @rule(
        change=st.sampled_from(
            [
                {},
                {"dns_zones": {"discover": True, "exclude": ["zone101"]}},
                {"dns_zones": {"discover": True, "ids": [102]}, "scripts": {"discover": False}},
                {"base_url": "http://another.example"},
                {"base_url": "HTTP://Platform.Example:80/"},
                {"name": "other"},
                {"api_key": "a-wrong-key"},
                {"budget": {"requests_per_second": 1.0, "max_in_flight": 1}},
            ]
        ),
        configured=st.sampled_from([{}, {"series": {"deny": ["edge_script_.*"]}}]),
        again=st.sampled_from([None, 0.0, 0.07]),
    )
    def reload(self, change: dict[str, Any], configured: dict[str, Any], again: float | None) -> None:
        """Change the file, and reload it, perhaps twice at once."""
        self.account, self.configured = change, configured

        async def reload() -> None:
            first = asyncio.create_task(self.machine.ask("/-/reload", "POST"))
            if again is not None:
                await asyncio.sleep(again)
                await self.machine.ask("/-/reload", "POST")
            assert (await first).text == "reloaded\n"

        self.machine.living.run(reload())
        self._check_configured(self._scrape())
        self._pass(90)
        self._check()

    # What is checked.

    def _scrape(self) -> Samples:
        found = samples(self.machine.get("/metrics").text)
        self.books.scraped(found)
        now = self.clock.true()
        for kind, (family, label) in COUNTERS.items():
            for own in map(dict, found.get(family, {})):
                last = self.platform.shown[own["account"], kind, own[label]][-1].at
                age = now - last
                assert age <= 3 * INTERVAL + SLACK, f"{family} {own} is served {age:.0f} s after the last good answer"
        return found

    def _check_configured(self, found: Samples) -> None:
        named = {name: {tuple(labels) for labels in series} for name, series in found.items() if name in FAMILIES}
        account = self.account.get("name", "main")
        for family, series in named.items():
            for labels in map(dict, series):
                assert labels["account"] == account, f"{family} of a former account"
                excluded = self.account.get("dns_zones", {}).get("exclude", [])
                assert not any(labels.get("domain", "").startswith(one) for one in excluded), f"{family} of {labels}"
        if "series" in self.configured:
            assert not any(family.startswith("edge_script_") for family in named)

    def _check_fresh(self, found: Samples) -> None:
        """Find what is missing although its last answer was good, and is not old."""
        if self.disk.mode != "good" or self.machine.executor("state").delay or self.account:
            return
        now = self.clock.true()
        served = {dict(labels)["zone_id"] for labels in found.get("edge_dns_window_queries", {})}
        for number in map(str, self.world.zones):
            last = self.platform.shown.get(("main", "dns_zone", number), [])[-1:]
            is_good = f"/dnszone/{number}/statistics" not in self.platform.failed
            if is_good and last and last[0].life == self.platform.life and 30 < now - last[0].at < 2 * INTERVAL:
                assert number in served, f"zone {number} is not served, {now - last[0].at:.0f} s after a good answer"

    def _check(self) -> None:
        found = self._scrape()
        self._check_configured(found)
        self._check_fresh(found)
        self.books.check()
        most = calls_in(self.platform.asked, 1.0)
        assert most <= RATE * 1.1 + 1, f"{most} calls in a second"
        self.platform.asked = self.platform.asked[-20:]

    @rule()
    def heal(self) -> None:
        """Let all be well for two hours: then everything is up, counted and polled, and the views agree."""
        self.platform.faults.clear()
        self.platform.short, self.platform.is_empty = 0, False
        self.disk.mode, self.clock.step = "good", 0.0
        for one in self.machine.living.executors:
            one.release()
        self.account, self.configured = {}, {}
        assert self.machine.get("/-/reload", "POST").text == "reloaded\n"
        began = self.clock.true()
        self._pass(4.2 * INTERVAL)
        found = self._scrape()
        wanted = {f"dns_zone/{one}" for one in self.world.zones} | {f"script/{one}" for one in self.world.scripts}
        wanted |= {"rate_limit/41"}
        up = {dict(labels)["target"]: value for labels, value in found["edge_target_up"].items()}
        assert {one for one, value in up.items() if value == 1.0} == wanted | {"account/main"}, up
        for kind, number in (one.split("/") for one in wanted):
            times = [one.at for one in self.platform.shown["main", kind, number] if one.at > began]
            assert self.clock.true() - times[-1] <= 1.6 * INTERVAL, f"{kind}/{number} is not polled"
        self.books.check([("main", kind, number) for kind, number in (one.split("/") for one in wanted)])
        view = json.loads(self.machine.get("/api/v1/targets?limit=1000").text)
        assert {one["target"] for one in view["targets"]} == up.keys()
        zones = json.loads(self.machine.get("/sd/dns_zone").text)
        assert len(zones) == len(self.world.zones)
        assert self.machine.get("/-/healthy").status_code == 200

    def teardown(self) -> None:
        """Heal, stop, and look at what is left."""
        try:
            if self.machine.process is not None:
                self.heal()
                self._stop()
        finally:
            self.machine.bury()
            self.contexts.close()
            shutil.rmtree(self.folder)


EXAMPLES = int(os.environ.get("EXAMPLES", "10"))
FAMILIES = {family for family, _ in COUNTERS.values()}


@pytest.mark.hypothesis
def test_a_year_in_a_minute() -> None:
    run_state_machine_as_test(
        Year,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            database=None,
            derandomize="SEED" not in os.environ,
            # The suite shows that something is wrong; what, `make simulate` makes short.
            phases=[Phase.generate, Phase.shrink]
            if "SEED" in os.environ and "PLANTED" not in os.environ
            else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
