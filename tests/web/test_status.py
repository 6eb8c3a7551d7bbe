import asyncio
from dataclasses import replace

import pytest

from exporter.collectors.collector import Outcome
from exporter.exposition.status_board import HEALTH
from exporter.metric import Family, Sample
from exporter.responsive.slices import at_once
from exporter.targets.sharding import Shard
from exporter.targets.target import Target
from exporter.web.status_models import FailureView, LedgerView, State, TargetCounts
from exporter.web.target_query import TargetQuery
from tests.exporter_parts import START
from tests.polled import succeed
from tests.web.view_setup import SCANS, STATISTICS, ViewSetup, view_setup, zone


async def test_a_successful_target_has_age_duration_and_chart() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(101, "shop.example"), chart=[1, 2, 3], took=0.25)
        setup.turn(12)
        (row,) = await setup.rows()
    assert (row.account, row.collector, row.target, row.name) == ("main", STATISTICS, "dns_zone/101", "shop.example")
    assert (row.state, row.reason, row.message) == (State.OK, "", "")
    assert (row.last_success, row.last_poll, row.age, row.duration) == (START, START, 12.0, 0.25)
    assert list(row.chart) == [1, 2, 3]


async def test_a_failing_target_has_a_reason_and_the_age_of_its_last_success() -> None:
    async with view_setup() as setup:
        succeed(setup.store, STATISTICS, _with_series(zone(101)), (), lifetime=60.0, duration=0.1)
        setup.turn(30)
        setup.fail(zone(101), reason="timeout", message="no answer in 10 s")
        (row,) = await setup.rows()
    assert (row.state, row.reason, row.message) == (State.FAILING, "timeout", "no answer in 10 s")
    assert (row.age, row.last_success, row.last_poll) == (30.0, START, START + 30)


def _with_series(target: Target) -> Outcome:
    return Outcome(target, (Family(HEALTH[0], (Sample(("main", STATISTICS, target.key.label, ""), 1.0),)),))


async def test_a_target_whose_series_are_gone_is_stale_and_is_not_drawn() -> None:
    async with view_setup() as setup:
        succeed(setup.store, STATISTICS, _with_series(zone(101)), (), lifetime=60.0, duration=0.1, chart=[1, 2, 3])
        setup.fail(zone(101))
        assert [row.state for row in await setup.rows()] == [State.FAILING]
        setup.turn(61)
        setup.store.expire()
        (row,) = await setup.rows()
    assert (row.state, row.chart, row.age) == (State.STALE, (), 61.0)


async def test_a_target_that_never_went_well_fails_without_an_age() -> None:
    async with view_setup() as setup:
        setup.fail(zone(101))
        (row,) = await setup.rows()
    assert (row.state, row.age, row.last_success) == (State.FAILING, None, None)


async def test_text_of_others_is_made_fit_before_anybody_sees_it() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(101, "a\0b\ud800" + "x" * 10_240), note="n\0te")
        (row,) = await setup.rows()
    assert row.name.startswith("a\N{REPLACEMENT CHARACTER}b?xxx")
    assert (len(row.name), row.message) == (1024, "n\N{REPLACEMENT CHARACTER}te")


async def test_queries_are_targets_of_their_database() -> None:
    async with view_setup("database:orders") as setup:
        setup.succeed(Target("", "query", "orders/open", "open"), "database_queries")
        assert [row.account for row in await setup.rows()] == ["database:orders"]
        assert len(await setup.rows(accounts=("database:orders",))) == 1
        assert (await setup.view().status()).accounts[0].targets == 1


async def _three(setup: ViewSetup) -> None:
    """Set up three zones, two of them with a scan."""
    setup.succeed(zone(9, "prod-shop.example"), chart=[10, 10], took=0.3)
    setup.turn(5)
    setup.succeed(zone(10, "Dev-Shop.example"), chart=[90, 10], took=0.1)
    setup.succeed(zone(10, "Dev-Shop.example"), SCANS, took=0.2)
    setup.turn(5)
    setup.fail(zone(200, "prod-api.example", "other"), reason="rate_limited")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["9s", "10r", "10s", "200s"]),
        ({"search": "SHOP"}, ["9s", "10r", "10s"]),
        ({"search": "shop prod"}, ["9s"]),
        ({"search": "dns_zone/10"}, ["10r", "10s"]),
        ({"search": "rate_limited"}, ["200s"]),
        ({"search": "other"}, ["200s"]),
        ({"search": "nowhere"}, []),
        ({"collectors": (SCANS,)}, ["10r"]),
        ({"collectors": (SCANS, STATISTICS)}, ["9s", "10r", "10s", "200s"]),
        ({"accounts": ("other",)}, ["200s"]),
        ({"states": (State.FAILING,)}, ["200s"]),
        ({"states": (State.OK,), "search": "dev"}, ["10r", "10s"]),
        ({"descending": True}, ["200s", "10s", "10r", "9s"]),
        ({"sort": "name"}, ["10r", "10s", "200s", "9s"]),
        ({"sort": "collector"}, ["10r", "9s", "10s", "200s"]),
        ({"sort": "account", "descending": True}, ["200s", "9s", "10r", "10s"]),
        ({"sort": "state"}, ["200s", "9s", "10r", "10s"]),
        ({"sort": "age"}, ["10r", "10s", "9s", "200s"]),
        ({"sort": "age", "descending": True}, ["200s", "9s", "10r", "10s"]),
        ({"sort": "duration"}, ["10s", "10r", "200s", "9s"]),
        ({"sort": "chart", "descending": True}, ["10s", "9s", "10r", "200s"]),
        ({"limit": 2}, ["9s", "10r"]),
        ({"limit": 2, "offset": 3}, ["200s"]),
        ({"offset": 99}, []),
    ],
)
async def test_targets_are_found_ordered_and_paged(wanted: dict[str, object], found: list[str]) -> None:
    async with view_setup("main", "other") as setup:
        await _three(setup)
        rows = await setup.rows(**wanted)
    letters = {STATISTICS: "s", SCANS: "r"}
    assert [row.target.removeprefix("dns_zone/") + letters[row.collector] for row in rows] == found


async def test_a_page_has_the_numbers_of_all_and_of_found_targets() -> None:
    async with view_setup("main", "other") as setup:
        await _three(setup)
        status, page, counts = await setup.view().both(
            TargetQuery(search="shop", states=(State.OK,), limit=1, offset=1)
        )
    assert (page.total, page.matched, page.offset, page.limit, len(page.targets)) == (4, 3, 1, 1, 1)
    assert counts == TargetCounts(ok=3, failing=0, stale=0, pending=0)
    assert status.targets == TargetCounts(ok=3, failing=1, stale=0, pending=0)


async def test_equal_failures_are_grouped_the_newest_first() -> None:
    async with view_setup() as setup:
        setup.fail(zone(1, "one"), message="first")
        setup.turn(1)
        setup.fail(zone(3, "three"), message="last")
        setup.fail(zone(2, "two"), SCANS, reason="forbidden", message="not yours")
        failures = (await setup.view().status()).failures
    alike = FailureView("main", STATISTICS, "server_error", 2, "dns_zone/3", "three", "last", START + 1)
    other = FailureView("main", SCANS, "forbidden", 1, "dns_zone/2", "two", "not yours", START + 1)
    assert set(failures) == {alike, other}
    setup.turn(1)
    setup.fail(zone(2, "two"), SCANS, reason="forbidden", message="not yours")
    assert [failure.reason for failure in (await setup.view().status()).failures] == ["forbidden", "server_error"]


async def test_no_more_than_fifty_failures_are_shown() -> None:
    async with view_setup() as setup:
        for number in range(60):
            setup.fail(zone(number), reason=f"reason_{number}")
        assert len((await setup.view().status()).failures) == 50


async def test_an_account_has_its_state_budget_and_pause() -> None:
    async with view_setup() as setup:
        setup.schedule.demands["main"] = 12.5
        setup.up["main"] = False
        setup.succeed(zone(1))
        setup.fail(zone(2), reason="unauthorized")
        budget = setup.schedule.accounts["main"].client.rate_limiter
        for path in ("/one", "/two"):
            budget.release(await budget.acquire(path), limited=True, wait=30.0)
        setup.turn(10)
        (account,) = (await setup.view().status()).accounts
    assert (account.account, account.up, account.reason) == ("main", False, "unauthorized")
    assert (account.demand, account.budget, account.max_in_flight) == (12.5, 5.0, 4)
    assert (account.targets, account.failing) == (2, 1)
    assert account.paused == pytest.approx(20.0)


async def test_a_database_is_up_while_one_of_its_targets_succeeds() -> None:
    async with view_setup("database:orders") as setup:
        del setup.up["database:orders"]
        query = Target("", "query", "orders/open", "open")
        database = Target("", "database", "orders", "orders")

        async def is_up() -> bool:
            return (await setup.view().status()).accounts[0].up

        assert await is_up()
        setup.fail(query, "database_queries")
        assert not await is_up()
        setup.succeed(database, "database")
        assert await is_up()
        setup.fail(database, "database", reason="refused")
        assert not await is_up()


async def test_a_collector_has_its_intervals_next_run_and_last_duration() -> None:
    async with view_setup() as setup:
        setup.schedule.stretch = 2.0
        setup.schedule.next_due[STATISTICS] = setup.clock() + 7
        setup.schedule.next_due[SCANS] = setup.clock() - 7
        setup.schedule.durations[STATISTICS] = 0.5
        setup.succeed(zone(1))
        setup.fail(zone(2))
        collectors = {seen.collector: seen for seen in (await setup.view().status()).collectors}
    statistics = collectors[STATISTICS]
    assert statistics.effective_interval == 2 * statistics.interval
    assert (statistics.targets, statistics.failing) == (2, 1)
    assert (statistics.next_run, statistics.last_duration) == (7.0, 0.5)
    assert (collectors[SCANS].next_run, collectors[SCANS].last_duration) == (0.0, None)
    assert list(collectors) == list(setup.schedule.plans)


async def test_it_is_ready_after_discovery_and_an_authenticated_answer_and_then_stays() -> None:
    async with view_setup() as setup:
        setup.is_authenticated = setup.schedule.is_discovered = False
        view = setup.view()
        assert view.waits_for() == "discovery has not ended"
        setup.schedule.is_discovered = True
        assert view.waits_for() == "no authenticated answer has come"
        setup.is_authenticated = True
        assert view.waits_for() == ""
        setup.is_authenticated = setup.schedule.is_discovered = False
        assert view.waits_for() == ""


@pytest.mark.parametrize("is_discovered", [True, False])
async def test_a_key_that_is_not_accepted_is_what_readiness_waits_for(*, is_discovered: bool) -> None:
    async with view_setup("main", "second") as setup:
        setup.is_authenticated, setup.schedule.is_discovered = False, is_discovered
        accounts = setup.schedule.accounts
        accounts["second"].client.credential.refuse("wrong")
        setup.fail(zone(1, account="second"), reason="unauthorized")
        assert setup.view().waits_for() == "the key of account second is not accepted"
        accounts["main"].client.credential.refuse("")
        setup.fail(zone(1), reason="credential")
        assert setup.view().waits_for() == (
            "the key of account main cannot be used, the key of account second is not accepted"
        )


async def test_a_refused_key_beside_one_that_is_accepted_does_not_keep_it_from_being_ready() -> None:
    async with view_setup("main", "second") as setup:
        setup.schedule.accounts["second"].client.credential.refuse("wrong")
        assert setup.view().waits_for() == ""


async def test_readiness_passes_the_silent_accounts_to_the_schedule() -> None:
    async with view_setup("main", "second") as setup:
        setup.up["second"] = False
        setup.view().waits_for()
        assert setup.schedule.silent == ["second"]


async def test_a_database_s_token_is_waited_for_only_where_there_is_no_account() -> None:
    async with view_setup("main", "database:orders") as setup:
        setup.is_authenticated = False
        del setup.up["database:orders"]
        setup.schedule.accounts["database:orders"].client.credential.refuse("wrong")
        assert setup.view().waits_for() == "no authenticated answer has come"
        del setup.up["main"]
        assert setup.view().waits_for() == "the token of database orders is not accepted"


async def test_what_readiness_waits_for_is_one_line_however_many_keys_are_refused() -> None:
    names = ("a\nb", "c", "d", "e", "f")
    async with view_setup(*names) as setup:
        setup.is_authenticated = False
        for account in setup.schedule.accounts.values():
            account.client.credential.refuse("wrong")
        assert setup.view().waits_for() == (
            "the key of account a b is not accepted, the key of account c is not accepted, "
            "the key of account d is not accepted, 2 more are refused"
        )


async def test_an_authenticated_answer_alone_does_not_make_it_ready() -> None:
    async with view_setup() as setup:
        setup.schedule.is_discovered = False
        assert setup.view().waits_for() == "discovery has not ended"


async def test_it_is_healthy_until_the_scheduler_the_ledger_or_the_press_stalls() -> None:
    async with view_setup() as setup:
        view = setup.view()
        setup.turn(29)
        assert view.ailment() == ""
        setup.turn(1)
        assert view.ailment() == "the scheduler has stalled"
        setup.schedule.last_tick = setup.clock()
        setup.is_ledger_alive = False
        assert view.ailment() == "the ledger has stalled"
        status = await view.status()
        setup.is_ledger_alive, setup.is_renderer_alive = True, False
        assert view.ailment() == "the exposition has stalled"
    assert (status.healthy, status.ailment) == (False, "the ledger has stalled")


async def test_the_status_has_the_remaining_fields() -> None:
    async with view_setup() as setup:
        setup.faults = ("config.yml:3: wrong",)
        setup.ledger = LedgerView(durable=True, saves=False, set_aside=START - 5)
        at_once(setup.registry.resharding(Shard(1, 3)))
        status = await setup.view().status()
    assert (status.version, status.series, status.shard, status.shards) == ("1.2.3", 4321, 1, 3)
    assert (status.started, status.now) == (START - 7200, START)
    assert (status.config_loaded, status.config_faults) == (START - 600, ("config.yml:3: wrong",))
    assert status.ledger == LedgerView(durable=True, saves=False, set_aside=START - 5)


async def test_a_target_is_known_by_the_registry_or_by_what_was_polled() -> None:
    async with view_setup() as setup:
        setup.succeed(Target("main", "rate_limit", "7"), "shield_rate_limits")
        view = setup.view()
    assert [view.is_target(key) for key in ("dns_zone/101", "rate_limit/7", "dns_zone/7", "")] == [
        True,
        True,
        False,
        False,
    ]


async def test_a_page_of_many_targets_lets_the_loop_turn() -> None:
    async with view_setup() as setup:
        for number in range(200):
            setup.succeed(zone(number))
        turns = 0

        def ticking() -> float:
            setup.clock.now += 0.001
            return setup.clock.now

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        view = setup.view()
        view.clocks = replace(view.clocks, monotonic=ticking)
        task = asyncio.create_task(others())
        await view.both(TargetQuery())
        task.cancel()
    assert turns > 150
