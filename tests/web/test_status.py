import pytest
from starlette.datastructures import QueryParams

from exporter.collectors import dns_statistics
from exporter.collectors.collector import Outcome
from exporter.exposition.store import TOO_LATE
from exporter.metric import Family, Sample
from exporter.targets.target import Target
from exporter.web.status import health
from exporter.web.target_statuses import find_targets
from tests.web.view_setup import STATISTICS, view_setup, zone

QUERIES = next(info for info in dns_statistics.COLLECTOR.families if info.name == "edge_dns_window_queries")
UNPROVEN = "no platform has answered an authenticated call yet"


async def test_a_database_is_up_while_one_of_its_targets_succeeds() -> None:
    async with view_setup("database:orders") as setup:
        del setup.up["database:orders"]
        query = Target("", "query", "orders/open", "open")
        database = Target("", "database", "orders", "orders")

        def is_up() -> bool:
            return bool(setup.status()["accounts"][0]["up"])

        setup.fail(query, "database_queries")
        assert not is_up()
        setup.succeed(database, "database")
        assert is_up()
        setup.fail(database, "database", reason="refused")
        assert not is_up()
        found = find_targets(setup.parts(), QueryParams("account=database:orders"))
        assert [row["account"] for row in found["targets"]] == ["database:orders"] * 2


@pytest.mark.parametrize("is_discovered", [True, False])
async def test_a_key_that_is_not_accepted_is_what_readiness_waits_for(*, is_discovered: bool) -> None:
    async with view_setup("main", "second") as setup:
        setup.unproven, setup.schedule.is_discovered = UNPROVEN, is_discovered
        setup.up["second"] = False
        accounts = setup.schedule.accounts
        accounts["second"].client.credential.refuse("wrong")
        setup.fail(zone(1, account="second"), reason="unauthorized")
        assert health(setup.parts())["waits_for"] == "the credential of second is not accepted"
        accounts["main"].client.credential.problem = "cannot be used"
        setup.turn(1)
        setup.fail(zone(1), reason="credential")
        assert health(setup.parts())["waits_for"] == (
            "the credential of main cannot be used, the credential of second is not accepted"
        )
        reasons = [(one["account"], one["reason"]) for one in setup.status()["accounts"]]
        assert reasons == [("main", ""), ("second", "unauthorized")], "the first one is up, and fails for one target"


async def test_a_database_s_token_is_waited_for_only_where_there_is_no_account() -> None:
    async with view_setup("main", "database:orders") as setup:
        setup.unproven = UNPROVEN
        del setup.up["database:orders"]
        setup.schedule.accounts["database:orders"].client.credential.refuse("wrong")
        assert health(setup.parts())["waits_for"] == UNPROVEN
        del setup.up["main"]
        assert health(setup.parts())["waits_for"] == "the credential of database:orders is not accepted"


async def test_a_target_whose_values_expire_is_stale_without_a_failed_poll() -> None:
    async with view_setup() as setup:
        family = Family(QUERIES, (Sample(("main", "1", ""), 5.0),))
        setup.store.publish(STATISTICS, Outcome(zone(1), (family,)), duration=0.1)
        setup.turn(setup.work.schedule.lifetime(STATISTICS, zone(1)))
        setup.store.expire()
        (failure,) = setup.status()["failures"]
    assert (failure["reason"], failure["message"]) == ("stale", TOO_LATE)
